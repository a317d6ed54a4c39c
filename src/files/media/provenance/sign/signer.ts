// Signs and marks outputs in forked processes. A file that cannot be signed stays as it is, and its record says why.
import { rename, stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { extname, join } from 'node:path'
import type { Containment, KernelLimits } from '@mediagen/engine/containment.ts'
import { EngineError } from '@mediagen/engine/engine.ts'
import { ProcessPool } from '@mediagen/engine/pool.ts'
import { handOver, moveFile } from '@mediagen/engine/process-folders.ts'
import type { Claim } from '../../../../core/files/provenance.ts'
import type { Inspection } from '../../probe/inspection.ts'
import { boundProvenance } from '../bound.ts'
import { mayHaveManifest } from '../manifest.ts'
import type { Credentials } from './certificate.ts'
import { canMark } from './mark.ts'
import type { SignRequest } from './request.ts'
import type { SignedFile } from './sign-output.ts'

export interface SignerOptions {
  /** Null for marks alone. */
  readonly credentials: Credentials | null
  /** Whether pictures get their source type in XMP. */
  readonly marks: boolean
  /** Whether the input is in the signature. */
  readonly saysInput: boolean
  /** A process that needs more memory is killed. */
  readonly maxRssBytes: number
  /** Time limit for a small file, in milliseconds. */
  readonly timeoutMs: number
  /** Maximum size of an output, in bytes. */
  readonly maxBytes: number
  /** Folder for the files of the processes. Default: a temporary folder. */
  readonly folder?: string | undefined
  readonly containment?: (() => Promise<Containment>) | undefined
  readonly limits?: Pick<KernelLimits, 'openFiles' | 'tasks'> | undefined
}

/** A stored output, as it was inspected. */
export type Seen = Pick<
  Inspection,
  'contentType' | 'extension' | 'width' | 'height' | 'provenance' | 'bytes' | 'sha256'
>

export interface Signer extends AsyncDisposable {
  /**
   * Replaces a file, which every user may read, by a signed or marked one.
   * @returns what has changed; without a signature that was wanted, `problem` says why
   */
  sign(path: string, seen: Seen, claim: Claim, owner: string, signal: AbortSignal): Promise<SignedFile | Seen>
  warm(): void
}

const leastBytesPerMs = 10_000
const signedName = 'signed'
// What a manifest and a mark add, with the manifests of ingredients.
const addedBytes = 64 * 1024 ** 2

/** Creates a signer; processes are forked on demand. */
export function createSigner(options: SignerOptions): Signer {
  const { credentials, marks, saysInput, maxRssBytes, timeoutMs, maxBytes } = options
  const pool = new ProcessPool<SignRequest, SignedFile | null>({
    rights: {
      entry: new URL('./process.ts', import.meta.url),
      code: [new URL('../../', import.meta.url)],
    },
    folder: options.folder,
    containment: options.containment,
    limits: { ...options.limits, fileBytes: maxBytes + addedBytes },
    size: availableParallelism(),
    maxRssBytes,
    failures: {
      outOfMemory: (limitBytes) => failed(`it needs more than ${Math.round(limitBytes / 1e6)} MB of memory`),
      crashed: (how, errorOptions) => failed(`what signs it crashes (${how})`, errorOptions),
    },
    logger: null,
  })

  /** @param isWhole whether ingredients are in it, or only named */
  async function attempt(
    way: { readonly signs: boolean; readonly isWhole: boolean },
    ...[path, seen, claim, owner, signal]: Parameters<Signer['sign']>
  ): Promise<SignedFile | null> {
    const ms = timeoutMs + Math.ceil(seen.bytes / leastBytesPerMs)
    const { contentType, width, height, provenance } = seen
    return pool.run({
      async request({ input, output }) {
        const handed = await handOver(path, input, `output.${seen.extension}`, true)
        const ingredients: { path: string | null; name: string }[] = []
        for (const [index, { path: file, name }] of claim.ingredients.entries())
          ingredients.push({
            name,
            path: way.isWhole ? await handOver(file, input, `${index}${extname(file)}`) : null,
          })
        return {
          path: handed,
          signedPath: join(output, signedName),
          contentType,
          width,
          height,
          hasManifest: provenance.signed,
          claim: { ...claim, input: saysInput ? claim.input : {}, ingredients },
          credentials: way.signs ? credentials : null,
          // A mark would break the manifest.
          marks: marks && canMark(contentType) && !provenance.signed,
        }
      },
      async collect(signed, { output }) {
        if (signed === null) return null
        const { bytes, sha256, provenance: said } = signed
        const { size } = await stat(join(output, signedName))
        if (bytes !== size || !/^[0-9a-f]{64}$/.test(sha256)) throw failed('what signs it gives an impossible answer')
        // Beside it first: from another disk it is copied, and never onto another file.
        await moveFile(join(output, signedName), `${path}.signed`)
        await rename(`${path}.signed`, path)
        return { bytes, sha256, provenance: boundProvenance(said) }
      },
      owner,
      signal,
      onProgress: () => {},
      timeout: { ms, reason: () => failed(`it takes longer than ${Math.ceil(ms / 1000)} s`) },
    })
  }

  function withProblem<File extends Pick<Seen, 'provenance'>>(file: File, words: string | null): File {
    if (words === null) return file
    const problem = `It was not ${credentials === null ? 'marked' : 'signed'}: ${words}`
    return { ...file, provenance: boundProvenance({ ...file.provenance, problem }) }
  }

  return {
    async sign(path, seen, claim, owner, signal) {
      if (claim.sourceType === null) return withProblem(seen, 'its model has no source_type in the catalog')
      const signs = credentials !== null && mayHaveManifest(seen.contentType)
      const can = credentials === null ? canMark(seen.contentType) : signs
      let problem = can ? null : `files of type ${seen.contentType} cannot be`
      // A medium of the input that cannot be read must not keep the output from being signed, nor a signature from a mark.
      const ways = [
        ...(signs ? [{ signs, isWhole: true }] : []),
        ...(signs && claim.ingredients.length > 0 ? [{ signs, isWhole: false }] : []),
        ...(marks && canMark(seen.contentType) ? [{ signs: false, isWhole: false }] : []),
      ]
      for (const way of ways) {
        try {
          const signed = await attempt(way, path, seen, claim, owner, signal)
          return withProblem(signed ?? seen, way.signs || credentials === null ? null : problem)
        } catch (error) {
          signal.throwIfAborted()
          problem ??= toWords(error)
        }
      }
      return withProblem(seen, problem)
    },
    warm: () => pool.warm(),
    [Symbol.asyncDispose]: () => pool.close(),
  }
}

/** Without the stack of a process that broke. */
function toWords(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? ''
}

function failed(words: string, options?: ErrorOptions): EngineError {
  return new EngineError('not_signed', words, false, options)
}
