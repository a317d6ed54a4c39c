// The requests to mark and to sign an output, and their result.
import type { Claim, Provenance } from '../../../../core/files/provenance.ts'
import type { Digest } from '../../digest.ts'
import type { Credentials } from './certificate.ts'

/** To a process that has no key, because it decodes the picture. */
export interface MarkRequest {
  readonly path: string
  /** Where the marked file goes. */
  readonly changedPath: string
  readonly contentType: string
  /** In pixels. */
  readonly width: number | null
  readonly height: number | null
  /** IPTC's code. */
  readonly sourceType: string
}

/** To a process that has the key, and decodes nothing. */
export interface SignRequest {
  readonly path: string
  /** Where the signed file goes. */
  readonly changedPath: string
  readonly contentType: string
  /** Whether it has a manifest, which then becomes the parent of ours. */
  readonly hasManifest: boolean
  /** `path` of an ingredient is null if it is only named. */
  readonly claim: Omit<Claim, 'ingredients'> & {
    readonly ingredients: readonly { readonly path: string | null; readonly name: string }[]
  }
  readonly credentials: Credentials
}

/** A file that was signed or marked. */
export interface ChangedFile extends Digest {
  /** As read from it. */
  readonly provenance: Provenance
}

/** The URI of a digital source type, without its code. */
export const iptc = 'http://cv.iptc.org/newscodes/digitalsourcetype/'
