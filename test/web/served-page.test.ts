// The console as it is served: every file is there, nothing needs what the content security policy forbids, no types are left.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../test-app.ts'

const files = readdirSync(join(import.meta.dirname, '../../web'))

async function fetchText(app: TestApp, path: string): Promise<{ response: Response; text: string }> {
  const response = await fetch(app.url + path)
  return { response, text: await response.text() }
}

test('the page refers to files that are served, under a policy without exceptions', async () => {
  await using app = await startTestApp()
  const { response, text } = await fetchText(app, '/')
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const policy = response.headers.get('content-security-policy') ?? ''
  expect(policy).toMatch(/^default-src 'self';/)
  expect(policy).not.toMatch(/unsafe|script-src|style-src|connect-src/)
  expect(text).not.toMatch(/<style|\sstyle=|\son[a-z]+=|javascript:/i)
  expect([...text.matchAll(/<script(?![^>]*\ssrc=)/g)]).toEqual([])
  const referred = [...text.matchAll(/(?:href|src)="(\/console\/[^"]+)"/g)].map((match) => match[1] ?? '')
  const preloaded = [...(response.headers.get('link') ?? '').matchAll(/<([^>]+)>/g)].map((match) => match[1] ?? '')
  expect(referred.length).toBeGreaterThan(5)
  for (const path of new Set([...referred, ...preloaded]))
    expect([path, (await fetch(app.url + path)).status]).toEqual([path, 200])
})

test('modules are plain JavaScript and import only what is served; icons exist', async () => {
  await using app = await startTestApp()
  const icons = (await fetchText(app, '/console/icons.svg')).text
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const { response, text } = await fetchText(app, `/console/${file}`)
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
  await using app = await startTestApp()
  for (const file of files.filter((name) => name.endsWith('.css'))) {
    const { response, text } = await fetchText(app, `/console/${file}`)
    expect(response.headers.get('content-type')).toBe('text/css; charset=utf-8')
    expect(text).not.toMatch(/@import|url\(/)
  }
})

test('an unchanged file is not sent twice, and the page learns how large a file may be', async () => {
  await using app = await startTestApp({ MEDIAGEN_MAX_UPLOAD_BYTES: '200000' })
  const etag = (await fetchText(app, '/console/main.ts')).response.headers.get('etag') ?? ''
  const again = await fetch(`${app.url}/console/main.ts`, { headers: { 'if-none-match': etag } })
  expect([again.status, await again.text()]).toEqual([304, ''])
  expect((await app.send('/console/limits.json', { key: null })).body).toEqual({ max_upload_bytes: 200_000 })
})
