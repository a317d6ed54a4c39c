// Reads where a file says it comes from. Runs in forked processes, because what it reads was written by strangers.
import { open } from 'node:fs/promises'
import type { Provenance } from '../../../core/files/provenance.ts'
import { readAt } from '../read-at.ts'
import { boundProvenance } from './bound.ts'
import { readClaims } from './claims.ts'
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

/**
 * Reads the provenance of a file. A manifest that cannot be read is a problem that the result names, not an error.
 * @param xmp the XMP packet of the file, if it is known
 */
export async function readProvenance(path: string, contentType: string, xmp: Buffer | null): Promise<Provenance> {
  const sourceType = xmp && findSourceType(xmp)
  await using file = await open(path, 'r')
  const { size } = await file.stat()
  const found = await findManifest((at, length) => readAt(file, at, length), size, contentType)
  if (found === null) return { ...noProvenance, sourceType }
  const unread = { ...noProvenance, signed: true, sourceType }
  if (found.content === null) return { ...unread, problem: tooLarge }
  let claims: Partial<Provenance> = {}
  let problem: string | null = null
  try {
    claims = readClaims(found.content)
  } catch (error) {
    problem = `The manifest cannot be read: ${(error as Error).message}`
  }
  // The answer of a process has a bound.
  return boundProvenance({ ...unread, ...claims, sourceType: claims.sourceType ?? sourceType, problem })
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
