// Signs and marks an output: Content Credentials by the library of C2PA, the digital source type in XMP.
import { readFile, rename, writeFile } from 'node:fs/promises'
import { EngineError } from '@mediagen/engine/engine.ts'
import type { Provenance } from '../../../../core/files/provenance.ts'
import { digest } from '../../probe/inspect.ts'
import { type C2pa, c2paSettings, loadC2pa } from '../c2pa.ts'
import { readProvenance, withCheck } from '../read.ts'
import { verifyManifest } from '../verify.ts'
import { mark, toPacket } from './mark.ts'
import type { SignRequest } from './request.ts'

/** A file that was signed or marked. */
export interface SignedFile {
  readonly bytes: number
  /** Lower-case hexadecimal. */
  readonly sha256: string
  /** As read from it. */
  readonly provenance: Provenance
}

const iptc = 'http://cv.iptc.org/newscodes/digitalsourcetype/'
const parent = 'parent'
const mostInputCharacters = 10_000

/**
 * Makes a signed or marked copy of a file.
 * @returns null if there is nothing to do
 * @throws EngineError `not_signed` that says why it cannot be signed
 */
export async function signOutput(request: SignRequest): Promise<SignedFile | null> {
  const { path, signedPath, contentType, credentials } = request
  const packet = request.marks ? toPacket(iptc + request.claim.sourceType) : null
  const isMarked = packet !== null && (await addMark(request, packet))
  if (credentials === null && !isMarked) return null
  if (credentials !== null) {
    const c2pa = await loadC2pa()
    if (c2pa === null) throw new EngineError('not_signed', 'the package @contentauth/c2pa-node is not installed', false)
    const source = isMarked ? `${signedPath}.marked` : path
    if (isMarked) await rename(signedPath, source)
    try {
      await sign(c2pa, { ...request, path: source })
    } catch (cause) {
      throw new EngineError('not_signed', (cause as Error).message, false, { cause })
    }
  }
  const provenance = await readProvenance(signedPath, contentType, isMarked ? packet : null)
  const checked = credentials && (await verifyManifest(signedPath, contentType))
  if (checked?.verified === false) throw new EngineError('not_signed', checked.problem ?? '', false)
  return { ...(await digest(signedPath)), provenance: withCheck(provenance, checked) }
}

/** Writes a marked copy, unless the picture has XMP. */
async function addMark({ path, signedPath, ...facts }: SignRequest, packet: Buffer): Promise<boolean> {
  const { default: sharp } = await import('sharp')
  const { xmp } = await sharp(path).metadata()
  if (xmp) return false
  const marked = mark(await readFile(path), packet, facts)
  // What was paid for is not replaced by a copy that cannot be read.
  await sharp(marked, { failOn: 'error' })
    .stats()
    .catch((cause: Error) => {
      throw new EngineError('not_signed', `the mark would break the picture: ${cause.message}`, false, { cause })
    })
  await writeFile(signedPath, marked)
  return true
}

async function sign({ Builder, LocalSigner }: C2pa, request: SignRequest): Promise<void> {
  const { path, signedPath, contentType, hasManifest, claim } = request
  const { certificates, key, algorithm } = request.credentials as NonNullable<SignRequest['credentials']>
  const builder = Builder.withJson({ claim_generator_info: [{ name: 'mediagen' }], title: claim.jobId }, c2paSettings)
  const ingredientIds: string[] = []
  const add = async (id: string, title: string, relationship: string, file: string | null): Promise<void> => {
    ingredientIds.push(id)
    await builder.addIngredient(
      JSON.stringify({ title, relationship, label: id }),
      ...(file === null ? [] : [{ path: file }]),
    )
  }
  if (hasManifest) {
    ingredientIds.push(parent)
    const ingredient = { title: 'as the model made it', relationship: 'parentOf', label: parent }
    await builder.addIngredient(JSON.stringify(ingredient), { path, mimeType: contentType })
  } else {
    for (const [index, { name, path: file }] of claim.ingredients.entries())
      await add(`input${index}`, name, 'inputTo', file)
  }
  builder.addAction(
    JSON.stringify({
      action: hasManifest ? 'c2pa.opened' : 'c2pa.created',
      ...(!hasManifest && { digitalSourceType: iptc + claim.sourceType }),
      softwareAgent: { name: claim.model, ...(claim.version !== null && { version: claim.version }) },
      parameters: {
        'mediagen.job_id': claim.jobId,
        ...toInput(claim.input),
        ...(ingredientIds.length > 0 && { ingredientIds }),
      },
    }),
  )
  const signer = LocalSigner.newSigner(Buffer.from(certificates), Buffer.from(key), algorithm)
  builder.sign(signer, { path, mimeType: contentType }, { path: signedPath, mimeType: contentType })
}

function toInput(input: SignRequest['claim']['input']): object {
  const text = JSON.stringify(input)
  return text === '{}' ? {} : { 'mediagen.input': text.slice(0, mostInputCharacters) }
}
