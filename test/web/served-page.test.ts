// The console as it is served: every file is there, nothing needs what the content security policy forbids, no types are left.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'

const app = await startTestApp({ MEDIAGEN_MAX_UPLOAD_BYTES: '200000' })
afterAll(() => app[Symbol.asyncDispose]())

const files = readdirSync(join(import.meta.dirname, '../../web'))

async function fetchText(path: string): Promise<{ response: Response; text: string }> {
  const response = await fetch(app.url + path)
  return { response, text: await response.text() }
}

test('the page refers to files that are served, under a policy without exceptions', async () => {
  const { response, text } = await fetchText('/')
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const policy = response.headers.get('content-security-policy') ?? ''
  expect(policy).toMatch(/^default-src 'self';/)
  expect(policy).not.toMatch(/unsafe|script-src|style-src|connect-src/)
  expect(text).not.toMatch(/<style|\sstyle=|\son[a-z]+=|javascript:/i)
  expect([...text.matchAll(/<script(?![^>]*\ssrc=)/g)]).toEqual([])
  const referred = [...text.matchAll(/(?:href|src)="(\/console\/[^"]+)"/g)].map((match) => match[1] ?? '')
  const preloaded = [...(response.headers.get('link') ?? '').matchAll(/<([^>]+)>/g)].map((match) => match[1] ?? '')
  expect(referred.length).toBeGreaterThan(5)
  const paths = [...new Set([...referred, ...preloaded])]
  const statuses = await Promise.all(paths.map(async (path) => [path, (await fetchText(path)).response.status]))
  expect(statuses).toEqual(paths.map((path) => [path, 200]))
})

test('modules are plain JavaScript and import only what is served; icons exist', async () => {
  const icons = (await fetchText('/console/icons.svg')).text
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const { response, text } = await fetchText(`/console/${file}`)
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(text).not.toMatch(/^\s*(import type|export interface|interface|export type|type) /m)
    for (const [, path] of text.matchAll(/from '([^']+)'/g))
      expect([file, path?.replace('./', '')]).toEqual([file, files.find((name) => path === `./${name}`)])
    for (const [, name] of text.matchAll(/\bicon(?:\(|: )'([a-z]+)'/g)) expect(icons).toContain(`id="${name}"`)
    // Markup is never made of text.
    expect(text).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(/)
  }
})

test('style sheets fetch nothing from elsewhere', async () => {
  for (const file of files.filter((name) => name.endsWith('.css'))) {
    const { response, text } = await fetchText(`/console/${file}`)
    expect(response.headers.get('content-type')).toBe('text/css; charset=utf-8')
    expect(text).not.toMatch(/@import|url\(/)
  }
})

test('an unchanged file is not sent twice, and the page learns how large a file may be', async () => {
  const etag = (await fetchText('/console/main.ts')).response.headers.get('etag') ?? ''
  const again = await fetch(`${app.url}/console/main.ts`, { headers: { 'if-none-match': etag } })
  expect([again.status, await again.text()]).toEqual([304, ''])
  expect((await app.send('/console/limits.json', { key: null })).body).toEqual({ max_upload_bytes: 200_000 })
})
