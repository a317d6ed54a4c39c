// What is believed of a process that signs, which a file may have taken over, and of a library of another version (P358).
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { noProvenance } from '../../../src/files/media/provenance/read.ts'
import { createChanger } from '../../../src/files/media/provenance/sign/changer.ts'
import { fixture } from './fixture.ts'
import type { HostileRequest } from './hostile-signer.ts'

let base: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'mediagen-hostile-signer-'))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

test('P358: a signer that gives an impossible answer changes nothing, and its texts are cut', async () => {
  const entry = new URL('./hostile-signer.ts', import.meta.url)
  const bounds = { maxRssBytes: 1e9, timeoutMs: 60_000, maxBytes: 1e6 }
  const changer = createChanger<HostileRequest>(entry, 'what signs it', bounds)
  try {
    const path = join(base, 'output')
    const { signal } = new AbortController()
    const change = (answer: object) => {
      writeFileSync(path, 'as it came')
      return changer.change({ path, extension: 'png', bytes: 10, owner: 'test', signal }, async () => ({ answer }))
    }
    const good = { bytes: 7, sha256: 'ab'.repeat(32), provenance: noProvenance }
    for (const wrong of [{ bytes: 8 }, { sha256: 'x' }, { sha256: 7 }, { provenance: null }]) {
      await expect(change({ ...good, ...wrong })).rejects.toThrow('what signs it gives an impossible answer')
      expect(readFileSync(path, 'utf8')).toBe('as it came')
    }
    const long = {
      ...noProvenance,
      issuer: 'x'.repeat(1000),
      actions: Array.from({ length: 1000 }, () => 'c2pa.edited'),
    }
    const { provenance, ...rest } = (await change({ ...good, provenance: long, key: 'pem' })) ?? {}
    expect(rest).toEqual({ bytes: 7, sha256: good.sha256 })
    expect([provenance?.issuer?.length, provenance?.actions.length]).toEqual([200, 32])
    expect(readFileSync(path, 'utf8')).toBe('changed')
  } finally {
    await changer.close()
  }
})

test('P358: a library of another version checks nothing and signs nothing, in words, and breaks nothing', async () => {
  vi.resetModules()
  vi.doMock('@contentauth/c2pa-node', () => ({ Builder: {}, Reader: {}, LocalSigner: {} }))
  try {
    const { verifyManifest } = await import('../../../src/files/media/provenance/verify.ts')
    expect(await verifyManifest(fixture('signed.png'), 'image/png')).toBeNull()
    const { signOutput } = await import('../../../src/files/media/provenance/sign/sign-output.ts')
    const request = { path: fixture('signed.png'), changedPath: join(base, 'signed'), contentType: 'image/png' }
    await expect(signOutput(request as Parameters<typeof signOutput>[0])).rejects.toMatchObject({
      name: 'EngineError',
      message: expect.stringMatching(/^the package @contentauth\/c2pa-node cannot be used: ./),
    })
  } finally {
    vi.doUnmock('@contentauth/c2pa-node')
    vi.resetModules()
  }
})
