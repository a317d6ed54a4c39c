// Outputs on standard output: one is written as it is, several are refused with the command that gets them.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder, modelOf, picture, price, writeCatalog } from '../faults/fixture.ts'
import { startTestApp } from '../test-app.ts'
import { openCommandLine } from './command-line.ts'

const folder = makeFolder()
const catalog = writeCatalog(folder.path, [
  { name: 'one', script: 'cp "$0" out.png' },
  { name: 'two', script: 'cp "$0" a.png && cp "$0" b.png' },
])
const app = await startTestApp({ MEDIAGEN_CATALOG: catalog })
const line = openCommandLine({ MEDIAGEN_URL: app.url, MEDIAGEN_KEY: app.account.key, XDG_CONFIG_HOME: folder.path })
afterAll(async () => {
  await line[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

test('-o - writes the one output and nothing else', async () => {
  const { status, stdout } = await line.run(['generate', modelOf('one'), '-o', '-'])
  expect([status, stdout]).toEqual([0, readFileSync(picture).toString()])
})

test('-o - writes nothing of several outputs, and the words have the command that gets them all', async () => {
  const { status, stdout, stderr } = await line.run(['generate', modelOf('two'), '-o', '-'])
  expect([status, stdout]).toEqual([1, ''])
  const said = /^mediagen: (job_\w+) has 2 outputs, .* for (\d+) credits, .*“mediagen (watch job_\w+)” .*\n$/m.exec(
    stderr,
  )
  const [, jobId = '', credits, command = ''] = said ?? []
  expect([Number(credits), command]).toEqual([price, `watch ${jobId}`])
  expect((await app.send(`/v1/jobs/${jobId}`)).body).toMatchObject({ status: 'succeeded', credits: price })
  expect(await line.run(['watch', jobId, '-o', '-']), 'watch refuses it too').toMatchObject({ status: 1, stdout: '' })

  const before = new Set(readdirSync(line.folder))
  expect(await line.run(command.split(' '))).toMatchObject({ status: 0 })
  const files = readdirSync(line.folder).filter((name) => !before.has(name))
  expect(files).toHaveLength(2)
  for (const file of files) expect(readFileSync(join(line.folder, file))).toEqual(readFileSync(picture))
})
