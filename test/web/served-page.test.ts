// The console as it is served: what the page loads is there, compressed and kept for ever, nothing needs what the content
// security policy forbids, no types are left.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'

const app = await startTestApp({ MEDIAGEN_MAX_UPLOAD_BYTES: '200000' })
afterAll(() => app[Symbol.asyncDispose]())

const folder = join(import.meta.dirname, '../../web')
const files = readdirSync(folder)
const readWeb = (name: string): string => readFileSync(join(folder, name), 'utf8')

async function fetchText(path: string): Promise<{ response: Response; text: string }> {
  const response = await fetch(app.url + path, { headers: { 'accept-encoding': 'gzip, br' } })
  return { response, text: await response.text() }
}

/** The files that a page loads, by the ends of their names. */
async function findFiles(path: string): Promise<Readonly<Record<string, string>>> {
  const { text } = await fetchText(path)
  const paths = [...text.matchAll(/(?:href|src)="(\/(?:console|admin)\/[^"]+)"/g)].map((match) => match[1] ?? '')
  return Object.fromEntries(paths.map((one) => [one.split('.').at(-1), one]))
}

test.each(['/', '/admin'])(
  'P218 the page at %s refers to two files that are served, and to the pictures of its catalog, under a policy without exceptions',
  async (place) => {
    const { response, text } = await fetchText(place)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(/^default-src 'self';/)
    expect(response.headers.get('cross-origin-opener-policy')).toBe('same-origin')
    expect(policy).not.toMatch(/unsafe|script-src|style-src|connect-src/)
    expect(text).not.toMatch(/<style|\sstyle=|\son[a-z]+=|javascript:|\{\{/i)
    expect([...text.matchAll(/<script(?![^>]*\ssrc=)/g)]).toEqual([])
    const paths = await findFiles(place)
    expect(Object.keys(paths).toSorted()).toEqual(['css', 'js'])
    const json = /data-covers="([^"]+)"/.exec(text)?.[1] ?? ''
    const types = {
      [paths['css'] ?? '']: 'text/css; charset=utf-8',
      [paths['js'] ?? '']: 'text/javascript; charset=utf-8',
      ...(place === '/' && { [json]: 'application/json; charset=utf-8' }),
    }
    for (const [path, type] of Object.entries(types)) {
      const { response, text: content } = await fetchText(path)
      expect([response.status, response.headers.get('content-type'), content === '']).toEqual([200, type, false])
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(response.headers.get('content-encoding')).toBe('br')
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    }
  },
)

test.each([
  ['/jobs/job_01', '/#/job/job_01'],
  ['/jobs/..%2F%2Fevil.example', '/#/job/..%2F%2Fevil.example'],
  ['/admin/', '/admin'],
])('%s, as some write it, leads to %s', async (written, place) => {
  const response = await fetch(app.url + written, { redirect: 'manual' })
  expect([response.status, response.headers.get('location')]).toEqual([302, place])
})

test.each(['/', '/docs', '/problems', '/admin'])(
  'the script of %s is plain JavaScript that imports nothing; every icon exists',
  async (place) => {
    const { text } = await fetchText((await findFiles(place))['js'] ?? '')
    // Users load nothing of the operator's page, which is large.
    expect(text.includes('listAuditEntries')).toBe(place === '/admin')
    expect(text).not.toMatch(/^\s*(import|export|interface|type) /m)
    const icons = readWeb('icons.svg')
    const page = (await fetchText(place)).text
    const named = [...text.matchAll(/\bicon:"([a-z]+)"/g)].map(([, name]) => name)
    expect(named.length).toBeGreaterThan(1)
    for (const name of named) expect(icons).toContain(`id="${name}"`)
    for (const [, name] of icons.matchAll(/id="(\w+)"/g)) expect(page).toContain(`<symbol id="icon-${name}"`)
    // Markup is never made of text.
    expect(text).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(/)
  },
)

test('the style sheet has all sheets, in their order, and fetches nothing from elsewhere', async () => {
  const { text } = await fetchText((await findFiles('/'))['css'] ?? '')
  const sheets = files.filter((name) => name.endsWith('.css') && name !== 'style.css')
  const named = [...readWeb('style.css').matchAll(/'\.\/(.*)'/g)].map(([, name = '']) => name)
  expect(named.toSorted()).toEqual(sheets.toSorted())
  expect(text.startsWith(':root {')).toBe(true)
  expect(text).not.toMatch(/@import|url\(/)
})

test('an unchanged page is not sent twice, and says how large a file may be', async () => {
  const { response, text } = await fetchText('/')
  expect(text).toMatch(/<html lang="en" data-max-upload-bytes="200000"/)
  const again = await fetch(app.url, { headers: { 'if-none-match': response.headers.get('etag') ?? '' } })
  expect([again.status, await again.text()]).toEqual([304, ''])
  expect(response.headers.get('cache-control')).toBe('no-cache')
})

test('what no page loads is not there', async () => {
  for (const name of [
    'main.ts',
    'main.js',
    'style.css',
    'main.0000000000000000.js',
    'covers.0000000000000000.json',
    '..%2Fpackage.json',
  ])
    expect([name, (await fetchText(`/console/${name}`)).response.status]).toEqual([name, 404])
})

test('the pages about problems load the same sheet, and show their links without their script', async () => {
  const { css } = await findFiles('/')
  for (const path of ['/problems', '/problems/quote_expired']) {
    const found = await findFiles(path)
    expect([found['css'], found['js']]).toEqual([css, expect.stringMatching(/^\/console\/page\./)])
    const { response, text } = await fetchText(path)
    expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'self';/)
    expect(text).toMatch(/<nav id="navigation" aria-label="Console"\s*>/)
    expect(text).not.toMatch(/<style|\{\{/)
  }
})
