// Signs an output: Content Credentials by the library of C2PA.
import { EngineError } from '@mediagen/engine/engine.ts'
import { digest } from '../../digest.ts'
import { type C2pa, c2paSettings, loadC2pa } from '../c2pa.ts'
import { readProvenance, withCheck } from '../read.ts'
import { verifyManifest } from '../verify.ts'
import { type ChangedFile, iptc, type SignRequest } from './request.ts'

const parent = 'parent'
const mostInputCharacters = 10_000

/**
 * Makes a signed copy of a file.
 * @throws EngineError `not_signed` that says why it cannot be signed
 */
export async function signOutput(request: SignRequest): Promise<ChangedFile> {
  const { changedPath, contentType } = request
  const c2pa = await loadC2pa().catch((cause: Error) => {
    const words = `the package @contentauth/c2pa-node cannot be used: ${cause.message}`
    throw new EngineError('not_signed', words, false, { cause })
  })
  if (c2pa === null) throw new EngineError('not_signed', 'the package @contentauth/c2pa-node is not installed', false)
  try {
    await sign(c2pa, request)
  } catch (cause) {
    throw new EngineError('not_signed', (cause as Error).message, false, { cause })
  }
  const provenance = await readProvenance(changedPath, contentType)
  const checked = await verifyManifest(changedPath, contentType)
  if (checked?.verified === false) throw new EngineError('not_signed', checked.problem ?? '', false)
  return { ...(await digest(changedPath)), provenance: withCheck(provenance, checked) }
}

async function sign({ Builder, LocalSigner }: C2pa, request: SignRequest): Promise<void> {
  const { path, changedPath, contentType, hasManifest, claim } = request
  const { certificates, key, algorithm } = request.credentials
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
  builder.sign(signer, { path, mimeType: contentType }, { path: changedPath, mimeType: contentType })
}

function toInput(input: SignRequest['claim']['input']): object {
  const text = JSON.stringify(input)
  return text === '{}' ? {} : { 'mediagen.input': text.slice(0, mostInputCharacters) }
}
