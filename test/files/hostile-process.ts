// Looks into outputs for tests of what holds it: does what the file says, and nothing with media.
import { readFile } from 'node:fs/promises'
import { serveTasks } from '@mediagen/engine/serve.ts'
import type { InspectRequest } from '../../src/files/media/probe/inspection.ts'

const hoard: Buffer[] = []

serveTasks(async (request) => {
  switch (await readFile((request as InspectRequest).path, 'utf8')) {
    case 'hang':
      // Like native code, this answers to nothing but SIGKILL.
      for (;;);
    case 'hoard':
      for (;;) hoard.push(Buffer.alloc(10_000_000, 1))
    case 'crash':
      return process.abort()
    default:
      return {
        contentType: 'image/png',
        extension: 'png',
        width: 1,
        height: 1,
        durationSeconds: null,
        bytes: 4,
        sha256: 'ab'.repeat(32),
        hasPreview: false,
        blurhash: null,
        provenance: {},
      }
  }
}).ready()
