// Reads where a file says it comes from. Runs in forked processes, because what it reads was written by strangers.
import { open } from 'node:fs/promises'
import type { Provenance } from '../../../core/files/provenance.ts'
import { readAt } from '../read-at.ts'
import { boundProvenance } from './bound.ts'
import { readClaims } from './claims.ts'
import { findSoftware } from './exif.ts'
import { findManifest, mostManifestBytes } from './manifest.ts'
import type { Checked } from './verify.ts'
import { findSourceType } from './xmp.ts'

const tooLarge = `The manifest has more than ${mostManifestBytes} bytes, and is not read.`

/** Of a file that says nothing. */
export const noProvenance: Provenance = {
  signed: false,
  verified: null,
  issuer: null,
  generator: null,
  actions: [],
  sourceType: null,
  problem: null,
}

/** Metadata of a picture, as its decoder found it. */
export interface Metadata {
  readonly xmp?: Buffer | null | undefined
  readonly exif?: Buffer | null | undefined
}

/**
 * Reads the provenance of a file. A manifest that cannot be read is a problem that the result names, not an error; what it says
 * comes before what metadata say.
 */
export async function readProvenance(
  path: string,
  contentType: string,
  { xmp, exif }: Metadata = {},
): Promise<Provenance> {
  const sourceType = xmp ? findSourceType(xmp) : null
  const generator = exif ? findSoftware(exif) : null
  await using file = await open(path, 'r')
  const { size } = await file.stat()
  const found = await findManifest((at, length) => readAt(file, at, length), size, contentType)
  if (found === null) return boundProvenance({ ...noProvenance, sourceType, generator })
  const unread = boundProvenance({ ...noProvenance, signed: true, sourceType, generator })
  if (found.content === null) return { ...unread, problem: tooLarge }
  let claims: Partial<Provenance> = {}
  let problem: string | null = null
  try {
    claims = readClaims(found.content)
  } catch (error) {
    problem = `The manifest cannot be read: ${(error as Error).message}`
  }
  // The answer of a process has a bound.
  return boundProvenance({
    ...unread,
    ...claims,
    sourceType: claims.sourceType ?? sourceType,
    generator: claims.generator ?? generator,
    problem,
  })
}

/** Whether a manifest was found that can be checked. */
export function isCheckable({ signed, problem }: Provenance): boolean {
  return signed && problem !== tooLarge
}

/** Adds what the check of its manifest found; null if there was none. */
export function withCheck(read: Provenance, checked: Checked | null): Provenance {
  if (checked === null) return read
  return { ...read, verified: checked.verified, problem: checked.verified ? null : (read.problem ?? checked.problem) }
}
