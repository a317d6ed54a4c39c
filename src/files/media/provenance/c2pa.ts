// The optional library of C2PA, loaded when it is first needed.
import type { Builder, LocalSigner, Reader } from '@contentauth/c2pa-node'

/** The classes that are used. */
export interface C2pa {
  readonly Builder: typeof Builder
  readonly LocalSigner: typeof LocalSigner
  readonly Reader: typeof Reader
}

/** Nothing is fetched: manifests of strangers would name the addresses. Thumbnails would double a small picture. */
export const c2paSettings = {
  verify: { remote_manifest_fetch: false, ocsp_fetch: false },
  // What was done and from what is our claim, not hearsay.
  builder: {
    thumbnail: { enabled: false },
    created_assertion_labels: ['c2pa.actions', 'c2pa.ingredient'],
  },
}

let loading: Promise<C2pa | null> | undefined

/** The library; null if it is not installed, or not for this machine. */
export function loadC2pa(): Promise<C2pa | null> {
  return (loading ??= load())
}

async function load(): Promise<C2pa | null> {
  try {
    const library = await import('@contentauth/c2pa-node')
    // Loads its binary.
    library.Builder.withJson({}, c2paSettings)
    return library
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND' || code === 'ERR_DLOPEN_FAILED') return null
    throw error
  }
}
