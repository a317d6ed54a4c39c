// The tarball that `npm run pack` makes, installed in an empty folder from the registry: it serves a picture and the console.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pack } from '../deploy/pack.ts'
import { openCommandLine } from './cli/command-line.ts'

// Packages come from the registry, unless npm has them in its cache.
const installMs = 300_000
// npm is to run on the Node that runs this test, whatever the machine has.
const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mediagen-packed-'))
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--prefix', folder]
  await promisify(execFile)('npm', ['install', ...options, pack(folder)], { cwd: folder, env })
}, installMs)
afterAll(() => rm(folder, { recursive: true, force: true }))

test('its demo makes a picture', async () => {
  await using line = openCommandLine({}, join(folder, 'node_modules/mediagen'))
  const { status, stdout, stderr } = await line.spawn(['demo', '--once', '--json'])
  expect(status, stderr).toBe(0)
  const picture = await readFile(join(line.folder, JSON.parse(stdout).file))
  expect(await sharp(picture).metadata()).toMatchObject({ format: 'png', width: 1280, height: 800 })
})

test('its server has the console, with its scripts and its style', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: '' }, join(folder, 'node_modules/mediagen'))
  await line.json(['migrate', '--json'])
  const server = await line.serve()
  for (const page of ['/', '/admin', '/docs']) {
    const answer = await fetch(server.httpUrl + page)
    expect([page, answer.status]).toEqual([page, 200])
    const paths = [...(await answer.text()).matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css))"/g)].map(([, path]) => path)
    expect(paths.length, page).toBeGreaterThanOrEqual(2)
    for (const path of paths) expect([path, (await fetch(server.httpUrl + path)).status]).toEqual([path, 200])
  }
})
