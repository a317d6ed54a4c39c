// Where an output says it comes from, as in the job's record.

/** What a file says about its origin, and whether that is true. */
export interface Provenance {
  /** Whether it has a C2PA manifest. */
  readonly signed: boolean
  /** Whether its signature and its content fit; null if nobody has checked. Who signed is what the certificate says, whoever made that. */
  readonly verified: boolean | null
  /** Organisation, else name, in the certificate of the signature. */
  readonly issuer: string | null
  /** The program that made the manifest. */
  readonly generator: string | null
  /** What the manifest says was done, such as `c2pa.created`. */
  readonly actions: readonly string[]
  /** Digital source type: IPTC's code, such as `trainedAlgorithmicMedia`, or another URI. */
  readonly sourceType: string | null
  /** Why a manifest cannot be read or does not fit, or why the file could not be signed or marked; null if all is well. */
  readonly problem: string | null
}

const mostActions = 32
const mostCharacters = 200

/** Cuts what a file says to what a record may hold. Its texts are of strangers, and may come from a process that they took over. */
export function boundProvenance(said: Provenance): Provenance {
  const { signed, verified, issuer, generator, actions, sourceType, problem } = said
  return {
    signed: signed === true,
    verified: typeof verified === 'boolean' ? verified : null,
    issuer: toText(issuer),
    generator: toText(generator),
    actions: (Array.isArray(actions) ? actions : []).slice(0, mostActions).flatMap((action) => toText(action) ?? []),
    sourceType: toText(sourceType),
    problem: toText(problem),
  }
}

function toText(value: unknown): string | null {
  if (typeof value !== 'string') return null
  // Control characters, signs that reverse the direction, and halves of a pair are no part of a name.
  const plain = value.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ').trim()
  return plain === '' ? null : Array.from(plain).slice(0, mostCharacters).join('')
}
