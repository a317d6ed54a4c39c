// A machine whose own Node is too old: the command line hands over to the Node that npm installed.
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { findOldNode } from '../old-node.ts'
import { openCommandLine } from './command-line.ts'

const oldNode = findOldNode()
const skipped = oldNode ? '' : ' (SKIPPED: no Node below 24 on this machine)'

describe.skipIf(!oldNode)(`Node is too old${skipped}`, () => {
  const openLine = (checkout?: string) => openCommandLine({}, checkout, oldNode?.path)

  test('a command runs all the same, and ends with its own status', async () => {
    await using line = openLine()
    expect(await line.spawn(['--version'])).toEqual({ status: 0, stdout: `${manifest.version}\n`, stderr: '' })
    expect((await line.spawn(['admin', 'jobs', 'list'])).status).toBe(1)
  })

  test.for(['SIGTERM', 'SIGINT'] as const)('a server gets %s and stops as usual', async (signal) => {
    await using line = openLine()
    const server = await line.serve()
    expect((await fetch(`${server.httpUrl}/healthz`)).status).toBe(200)
    expect((await server.stop(signal)).status).toBe(0)
    await expect(fetch(`${server.httpUrl}/healthz`)).rejects.toThrow()
  })

  test('where none was installed one sentence says so', async () => {
    await using line = openCommandLine()
    cpSync(join(import.meta.dirname, '../../bin'), join(line.folder, 'bin'), { recursive: true })
    await using bare = openLine(line.folder)
    const { status, stdout, stderr } = await bare.spawn(['serve'])
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(/^mediagen needs Node 24 or newer, and this is Node [^\n]+ npm ci [^\n]+\n$/)
    expect(stderr).toContain(oldNode?.version)
    // The lean install leaves no Node behind either, so it is not the advice.
    expect(stderr).toContain('nodejs.org')
    expect(stderr).toContain('or run npm ci in the folder of mediagen, which brings one')
    expect(existsSync(bare.dataDir)).toBe(false)
  })
})
