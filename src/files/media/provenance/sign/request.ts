// The request to sign or mark an output, and its result.
import type { Claim } from '../../../../core/files/provenance.ts'
import type { Credentials } from './certificate.ts'

export interface SignRequest {
  readonly path: string
  /** Where the signed file goes. */
  readonly signedPath: string
  readonly contentType: string
  /** In pixels; null for a sound. */
  readonly width: number | null
  readonly height: number | null
  /** Whether it has a manifest, which then becomes the parent of ours. */
  readonly hasManifest: boolean
  /** `path` of an ingredient is null if it is only named. */
  readonly claim: Omit<Claim, 'ingredients'> & {
    readonly ingredients: readonly { readonly path: string | null; readonly name: string }[]
  }
  /** Null for a mark alone. */
  readonly credentials: Credentials | null
  /** Whether XMP is written. */
  readonly marks: boolean
}
