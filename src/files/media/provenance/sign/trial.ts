// Tries a certificate, and what signs by it, before it is needed.
import { randomUUID } from 'node:crypto'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Claim } from '../../../../core/files/provenance.ts'
import { noProvenance } from '../read.ts'
import type { Seen, Signer } from './signer.ts'

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAADElEQVQI12NgYGAAAAAEAAEnNCcKAAAAAElFTkSuQmCC',
  'base64',
)
const seen: Seen = {
  contentType: 'image/png',
  extension: 'png',
  width: 1,
  height: 1,
  provenance: noProvenance,
  bytes: pixel.length,
  sha256: '',
}
const claim: Claim = {
  jobId: 'trial',
  model: 'trial',
  version: null,
  sourceType: 'algorithmicMedia',
  input: {},
  ingredients: [],
}

/** Signs a picture of one pixel, in a folder; returns why that does not work, or null. */
export async function trySigning(signer: Signer, folder: string): Promise<string | null> {
  const path = join(folder, randomUUID())
  await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    await writeFile(path, pixel)
    // Whatever the umask is.
    await chmod(path, 0o644)
    const { provenance } = await signer.sign(path, seen, claim, 'trial', new AbortController().signal)
    return provenance.problem
  } finally {
    await rm(path, { force: true })
  }
}
