// Checks a manifest by the library of C2PA, if it is installed.
import { c2paSettings, loadC2pa } from './c2pa.ts'

/** What came of a check. */
export interface Checked {
  readonly verified: boolean
  /** Why not. */
  readonly problem: string | null
}

// Who signed is said by the certificate; no list of trusted ones is asked.
const untrusted = 'signingCredential.untrusted'

/** Checks signature and content of a file with a manifest; null without the library. */
export async function verifyManifest(path: string, mimeType: string): Promise<Checked | null> {
  const c2pa = await loadC2pa().catch(() => null)
  if (c2pa === null) return null
  try {
    const reader = await c2pa.Reader.fromAsset({ path, mimeType }, c2paSettings)
    if (reader === null) return { verified: false, problem: 'The manifest cannot be read.' }
    const { validation_state: state, validation_status: faults } = reader.json() as StoreReport
    if (state === 'Valid' || state === 'Trusted') return { verified: true, problem: null }
    const codes = (faults ?? []).map(({ code }) => code).filter((code) => code !== untrusted)
    return { verified: false, problem: `The manifest does not fit the file: ${codes.join(', ')}` }
  } catch (error) {
    return { verified: false, problem: `The manifest cannot be read: ${(error as Error).message}` }
  }
}

/** The parts of the library's report that are used. */
interface StoreReport {
  readonly validation_state?: string | null
  readonly validation_status?: readonly { readonly code: string }[] | null
}
