// Two containers on one volume: in both the server is process 1 of a host of the same name.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { createTestAccount, openClient, openCommandLine } from '../cli/command-line.ts'
import { awaitFile } from '../test-app.ts'

const catalog = join(import.meta.dirname, 'models.yaml')
const settings = { MEDIAGEN_CATALOG: catalog, MEDIAGEN_LEASE_SECONDS: '3600' }
const firstProcess = pathToFileURL(join(import.meta.dirname, 'first-process.js')).href

// A Node that is process 1 of namespaces of its own.
const namespaces = ['--pid', '--uts', '--fork', '--kill-child', '--mount-proc']
const unshares = spawnSync('unshare', [...namespaces, 'true']).status === 0
if (!unshares) console.warn('the test of namespaces is skipped: unshare is not allowed here')

/** A job runs on the first server while the second one starts; then its gate opens. */
async function expectBothToWork(env: Readonly<Record<string, string>>, node?: string): Promise<void> {
  await using line = openCommandLine({ ...settings, ...env }, undefined, node)
  const { key } = await createTestAccount(line)
  const work = join(line.dataDir, 'work')
  const runs = () => readdirSync(work).flatMap((worker) => readdirSync(join(work, worker)))
  const first = await line.serve()
  const client = openClient(first.httpUrl, key)
  const gate = join(line.folder, 'gate')
  const { body: job } = await client.generate('test/patient/text-to-image', { gate }, false)
  await awaitFile(`${gate}.begun`)
  expect(runs()).toEqual([`${job.job_id}-1`])

  const second = await line.serve()
  const read = async () => (await openClient(second.httpUrl, key).send(`/v1/jobs/${job.job_id}`)).body
  expect(runs()).toEqual([`${job.job_id}-1`])
  writeFileSync(gate, '')
  await expect.poll(read).toMatchObject({ status: 'succeeded', attempts: 1, billing: { charged: 10 } })
  expect(readdirSync(work).length).toBe(2)

  // One is killed: the next start sees to what it left, and to nothing of the other.
  await first.stop('SIGKILL')
  await line.serve()
  expect(readdirSync(work).length).toBe(2)
  expect((await fetch((await read()).outputs[0].url)).status).toBe(200)
}

test('servers that both believe to be process 1 of the same host leave each other their folders and leases', () =>
  expectBothToWork({ NODE_OPTIONS: `--import ${firstProcess}` }))

test.runIf(unshares)('so do servers in process and host namespaces of their own', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-node-'))
  try {
    const node = join(folder, 'node')
    writeFileSync(node, `#!/bin/sh\nexec unshare ${namespaces.join(' ')} '${process.execPath}' "$@"\n`, { mode: 0o755 })
    await expectBothToWork({}, node)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
