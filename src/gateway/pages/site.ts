// The files of a folder as pages load them: one style sheet, a script for each kind of page, the icons within the page.
// The names of files change with their content, so that browsers keep them for ever. They are made at the first request.
import { readFile } from 'node:fs/promises'
import { join, parse } from 'node:path'
import { findOrMake, onFirstUse } from '@mediagen/engine/first-use.ts'
import { createServedFile, type ServedFile } from './served-file.ts'

/** A page: the frame in `frame.html`, filled. */
export interface Page<Script extends string> {
  /** Text. */
  readonly title: string
  /** Text. */
  readonly description: string
  /** HTML. */
  readonly main: string
  /** The module that brings the page to life. */
  readonly script?: Script
  /** Whether the bar shows its links at once, and not when the script wants it. */
  readonly showsLinks?: boolean
  /** What the script reads of `document.documentElement.dataset`. */
  readonly data?: Readonly<Record<string, string>>
}

/** Pages and what they load. */
export interface Site<Script extends string> {
  /** A page, to be asked for again each time, and sent only if it has changed. */
  page(page: Page<Script>): Promise<ServedFile>
  /** What pages load under this name; undefined if none does. */
  find(name: string): Promise<ServedFile | undefined>
}

// Scripts, styles and requests of this server only; media may lie elsewhere, such as in a bucket.
const contentSecurityPolicy = [
  "default-src 'self'",
  "img-src 'self' data: blob: https: http:",
  "media-src 'self' data: blob: https: http:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
const comments = /<!--.*?-->\s*/gs
const pageHeaders = {
  'cache-control': 'no-cache',
  'content-security-policy': contentSecurityPolicy,
  // A page of another origin that opened this one gets no reference to its window.
  'cross-origin-opener-policy': 'same-origin',
}
/** Of a file whose name changes with its content. */
export const fileHeaders = { 'cache-control': 'public, max-age=31536000, immutable' }

/**
 * Creates a site.
 * @param folder has `frame.html`, `style.css`, `favicon.svg`, `icons.svg` and modules
 * @param base path under which the caller serves what `find` finds, such as `/console/`
 * @param scripts modules that bring pages to life
 */
export function createSite<Script extends string>(
  folder: string,
  base: string,
  scripts: readonly Script[],
): Site<Script> {
  const files = new Map<string, ServedFile>()
  const paths = new Map<string, Promise<string>>()
  const read = (name: string): Promise<string> => readFile(join(folder, name), 'utf8')

  /** Makes a file once; answers with its path. */
  function place(name: string, extension: string, contentType: string, make: () => Promise<string>): Promise<string> {
    return findOrMake(paths, name, async () => {
      const file = createServedFile({ contentType, content: await make(), headers: fileHeaders })
      const hashed = `${name.replace(/\.\w+$/, '')}.${file.hash}.${extension}`
      files.set(hashed, file)
      return base + hashed
    })
  }
  const placeStyle = (): Promise<string> => place('style.css', 'css', 'text/css; charset=utf-8', () => joinStyles(read))
  const bundleScripts = onFirstUse(async () => {
    // A start does not need the bundler.
    const { bundle } = await import('./bundle.ts')
    return bundle(folder, scripts)
  })
  const placeScript = (name: string): Promise<string> =>
    place(name, 'js', 'text/javascript; charset=utf-8', async () => (await bundleScripts()).get(parse(name).name) ?? '')

  return {
    async page({ title, description, main, script, showsLinks = false, data = {} }) {
      const [frame, icons, mark, style, scriptPath] = await Promise.all([
        read('frame.html'),
        read('icons.svg'),
        read('favicon.svg'),
        placeStyle(),
        script && placeScript(script),
      ])
      const values: Readonly<Record<string, string>> = {
        title: escapeHtml(title),
        description: escapeHtml(description),
        data: Object.entries(data)
          .map(([name, value]) => `data-${name}="${escapeHtml(value)}"`)
          .join(' '),
        style,
        favicon: `data:image/svg+xml,${encodeURIComponent(mark.replaceAll(comments, ''))}`,
        script: scriptPath ? `<script type="module" src="${scriptPath}"></script>` : '',
        hidden: showsLinks ? '' : 'hidden',
        icons: icons.replace('<svg', '<svg hidden').replaceAll('<symbol id="', '<symbol id="icon-'),
        main,
      }
      const content = frame
        .replaceAll(/\{\{(\w+)\}\}/g, (place, name: string) => values[name] ?? place)
        .replaceAll(comments, '')
      return createServedFile({ contentType: 'text/html; charset=utf-8', content, headers: pageHeaders })
    },
    async find(name) {
      // The page that names it may come from another server with the same files.
      const [stem] = name.split('.')
      const script = scripts.find((one) => one === `${stem}.ts`)
      if (stem === 'style') await placeStyle()
      else if (script) await placeScript(script)
      return files.get(name)
    },
  }
}

/** `style.css` with the sheets that it imports in their places. */
async function joinStyles(read: (name: string) => Promise<string>): Promise<string> {
  const sheet = await read('style.css')
  const names = [...sheet.matchAll(/^@import '([^']+)';$/gm)].map(([, name = '']) => name)
  const sheets = await Promise.all(names.map(read))
  return sheets
    .join('\n')
    .replaceAll(/\/\*.*?\*\/|^\s+/gms, '')
    .trim()
}

/** Text as HTML. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
