// What a record may hold of what a file says. Runs in forked processes, too, whose answers have a bound.
import type { Provenance } from '../../../core/files/provenance.ts'

const mostActions = 32
const mostCharacters = 200

/** Cuts what a file says to what a record may hold. Its texts are of strangers, and may come from a process that they took over. */
export function boundProvenance(said: Provenance): Provenance {
  const { signed, verified, issuer, generator, actions, sourceType, problem } = said
  return {
    signed: isTrue(signed),
    verified: typeof verified === 'boolean' ? verified : null,
    issuer: toText(issuer),
    generator: toText(generator),
    actions: (Array.isArray(actions) ? actions : []).slice(0, mostActions).flatMap((action) => toText(action) ?? []),
    sourceType: toText(sourceType),
    problem: toText(problem),
  }
}

function isTrue(value: unknown): boolean {
  return value === true
}

function toText(value: unknown): string | null {
  if (typeof value !== 'string') return null
  // Control characters, signs that reverse the direction, and halves of a pair are no part of a name.
  const plain = value.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ').trim()
  return plain === '' ? null : Array.from(plain).slice(0, mostCharacters).join('')
}
