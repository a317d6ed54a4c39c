// Signs and marks outputs in forked processes. A file that cannot be signed stays as it is, and its record says why.
import { extname, join } from 'node:path'
import { handOver, type ProcessFolders } from '@mediagen/engine/process-folders.ts'
import type { Claim } from '../../../../core/files/provenance.ts'
import type { Inspection } from '../../probe/inspection.ts'
import { boundProvenance } from '../bound.ts'
import { mayHaveManifest } from '../manifest.ts'
import type { Credentials } from './certificate.ts'
import { type ChangerOptions, createChanger } from './changer.ts'
import { canMark } from './mark.ts'
import type { ChangedFile, MarkRequest, SignRequest } from './request.ts'

export interface SignerOptions extends ChangerOptions {
  /** Null for marks alone. */
  readonly credentials: Credentials | null
  /** Whether pictures get their source type in XMP. */
  readonly marks: boolean
  /** Whether the input is in the signature. */
  readonly saysInput: boolean
}

/** A stored output, as it was inspected. */
export type Seen = Pick<
  Inspection,
  'contentType' | 'extension' | 'width' | 'height' | 'provenance' | 'bytes' | 'sha256'
>

/** What has changed of an output. */
export interface Signed extends ChangedFile {
  /** Why it lacks the signature that it should have; null if it has it, or needs none. */
  readonly unsigned: string | null
}

export interface Signer extends AsyncDisposable {
  /** Replaces a file, which every user may read, by a signed or marked one. What is missing is in the `problem` of the result. */
  sign(path: string, seen: Seen, claim: Claim, owner: string, signal: AbortSignal): Promise<Signed>
  warm(): void
}

/** A file on its way, and what could not be done. */
interface Step {
  readonly seen: Seen
  readonly problem: string | null
}

/** Creates a signer; processes are forked on demand. */
export function createSigner(options: SignerOptions): Signer {
  const { credentials, marks, saysInput, folder } = options
  // Each removes its own.
  const within = (name: string): ChangerOptions => ({ ...options, folder: folder && join(folder, name) })
  // Marks come first, in processes without the key: they decode the picture.
  const marker = marks
    ? createChanger<MarkRequest>(new URL('./mark-process.ts', import.meta.url), 'what marks it', within('mark'))
    : null
  const signer = credentials
    ? createChanger<SignRequest>(new URL('./process.ts', import.meta.url), 'what signs it', within('sign'))
    : null
  const changers = [marker, signer].filter((changer) => changer !== null)

  async function addMark(...[path, seen, claim, owner, signal]: Parameters<Signer['sign']>): Promise<Step> {
    const { contentType, width, height, extension, bytes, provenance } = seen
    const { sourceType } = claim
    if (marker === null || sourceType === null) return { seen, problem: null }
    if (!canMark(contentType))
      return { seen, problem: signer ? null : `It was not marked: files of type ${contentType} cannot be` }
    // A mark would break the manifest.
    if (provenance.signed) return { seen, problem: null }
    try {
      const file = { path, extension, bytes, owner, signal }
      const marked = await marker.change(file, async () => ({ contentType, width, height, sourceType }))
      return { seen: { ...seen, ...marked }, problem: null }
    } catch (error) {
      signal.throwIfAborted()
      return { seen, problem: `It was not marked: ${toWords(error)}` }
    }
  }

  /** @returns null if there is no signer */
  async function addSignature(...[path, seen, claim, owner, signal]: Parameters<Signer['sign']>): Promise<Step | null> {
    if (signer === null || credentials === null) return null
    const { contentType, extension, bytes, provenance } = seen
    if (!mayHaveManifest(contentType)) return { seen, problem: `files of type ${contentType} cannot be` }
    const file = { path, extension, bytes, owner, signal }
    let problem: string | null = null
    // A medium of the input that cannot be read must not keep the output from being signed: then it is only named.
    for (const isWhole of claim.ingredients.length > 0 ? [true, false] : [true])
      try {
        const signed = await signer.change(file, async (folders) => ({
          contentType,
          hasManifest: provenance.signed,
          claim: {
            ...claim,
            input: saysInput ? claim.input : {},
            ingredients: await handOverMedia(claim, isWhole, folders),
          },
          credentials,
        }))
        // Its parent may say nothing of the source, and its XMP, which is not read here, does.
        const sourceType = signed?.provenance.sourceType ?? provenance.sourceType
        const before = provenance.problem === null ? null : `Before it was signed: ${provenance.problem}`
        const said = { ...(signed?.provenance ?? provenance), sourceType, problem: before }
        return { seen: { ...seen, ...signed, provenance: said }, problem: null }
      } catch (error) {
        signal.throwIfAborted()
        problem ??= toWords(error)
      }
    return { seen, problem }
  }

  return {
    async sign(path, seen, claim, owner, signal) {
      if (claim.sourceType === null) {
        const done = credentials === null ? 'marked' : 'signed'
        return finish(seen, [`It was not ${done}: its model has no source_type in the catalog`], null)
      }
      const marked = await addMark(path, seen, claim, owner, signal)
      const signed = await addSignature(path, marked.seen, claim, owner, signal)
      const unsigned = signed?.problem ?? null
      const words = unsigned === null ? null : `It was not signed: ${unsigned}`
      const problems = [words, marked.problem].filter((problem) => problem !== null)
      return finish(signed?.seen ?? marked.seen, problems, unsigned)
    },
    warm() {
      for (const changer of changers) changer.warm()
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(changers.map((changer) => changer.close()))
    },
  }
}

/** One after the other: nothing may be on its way into the folder when a failure empties it. */
async function handOverMedia({ ingredients }: Claim, isWhole: boolean, { input }: ProcessFolders) {
  const media: { path: string | null; name: string }[] = []
  for (const [index, { path, name }] of ingredients.entries())
    media.push({ name, path: isWhole ? await handOver(path, input, `${index}${extname(path)}`) : null })
  return media
}

function finish(
  { bytes, sha256, provenance: said }: Seen,
  problems: readonly string[],
  unsigned: string | null,
): Signed {
  const problem = problems.length > 0 ? problems.join('; ') : said.problem
  return { bytes, sha256, provenance: boundProvenance({ ...said, problem }), unsigned }
}

/** Without the stack of a process that broke. */
function toWords(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? ''
}
