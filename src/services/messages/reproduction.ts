// What a job's record says about making its files again, and what is not guaranteed.
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { EngineSpec, JsonObject } from '@mediagen/engine/engine.ts'
import {
  type NotGuaranteedSchema,
  type Reproduction,
  ReproductionSchema,
} from '../../../gen/mediagen/v1/generation_pb.ts'
import type { Catalog, Model } from '../../catalog/model.ts'
import { readSeed } from '../../catalog/seed.ts'
import type { AssetUrls } from '../../core/files/asset.ts'
import type { Job } from '../../core/jobs/job.ts'
import { addAll, type MadeBy, type StoredInput } from '../../core/jobs/reproduction.ts'

type NotGuaranteed = MessageInitShape<typeof NotGuaranteedSchema>

/** The message of what it takes to make a job's files again, by the catalog as it is now. */
export function toReproduction(
  job: Job,
  stored: StoredInput | null,
  { catalog, urls }: { readonly catalog: Catalog; readonly urls: Pick<AssetUrls, 'read'> },
): Reproduction {
  const { madeBy } = job
  // A worker of an earlier version took no notice of what the start had added.
  const isRecorded = job.status !== 'succeeded' || madeBy !== null
  const input = stored && (isRecorded ? addAll(stored) : stored.input)
  const seed = input && readSeed(input)
  return create(ReproductionSchema, {
    ...(input && { input }),
    ...(typeof seed === 'number' && { seed: BigInt(seed) }),
    ...(madeBy && { engine: madeBy.engine }),
    ...(madeBy && madeBy.version !== null && { version: madeBy.version }),
    ...(madeBy && madeBy.model !== null && { providerModel: madeBy.model }),
    notGuaranteed: [
      ...(isRecorded ? [] : [unrecorded]),
      ...findModelDoubts(catalog, job.model, madeBy),
      ...(input === null ? [removed] : findInputDoubts(catalog.find(job.model), input, seed, urls)),
    ],
  })
}

const unrecorded: NotGuaranteed = {
  code: 'not_recorded',
  detail:
    'Version and seed were not recorded: an older version of this server made it, or its defaults did not fit the model any more.',
}
const removed: NotGuaranteed = { code: 'input_removed', detail: 'Its input was removed.' }

function findModelDoubts(catalog: Catalog, id: string, madeBy: MadeBy | null): NotGuaranteed[] {
  const model = catalog.find(id)
  if (!model) return [{ code: 'model_gone', detail: `The model ${id} is no longer in the catalog.` }]
  if (catalog.endOf(model)?.isOver) return [{ code: 'model_gone', detail: `The model ${id} has ended.` }]
  if (madeBy === null) return []
  const { runVersion: version, engine } = model
  const upstream = [engine, ...((engine['fallback'] ?? []) as readonly EngineSpec[])].map((one) => one['model'] ?? null)
  if (engine.kind !== madeBy.engine || !upstream.includes(madeBy.model)) {
    const [before, now] = [describe(madeBy.engine, madeBy.model), describe(engine.kind, upstream[0])]
    return [{ code: 'engine_changed', detail: `It was made by ${before}; now it would be made by ${now}.` }]
  }
  if (version !== madeBy.version)
    return [
      {
        code: 'version_changed',
        detail: `It was made with ${describeVersion(madeBy.version)}; the model has ${describeVersion(version)} now.`,
      },
    ]
  if (version === null)
    return [{ code: 'version_unknown', detail: 'The catalog names no version: the model may have changed unnoticed.' }]
  return []
}

function findInputDoubts(
  model: Model | undefined,
  input: JsonObject,
  seed: number | null | undefined,
  urls: Pick<AssetUrls, 'read'>,
): NotGuaranteed[] {
  if (!model) return []
  const far = model
    .mediaOf(input)
    .filter(({ reference }) => /^https?:/i.test(reference) && urls.read(reference) === null)
    .map(({ pointer }) => ({
      code: 'media_elsewhere',
      detail: `The file at ${pointer} is on another server, which may change it.`,
    }))
  if (model.isReproducible) return far
  const chance =
    typeof seed === 'number'
      ? { code: 'not_promised', detail: 'The engine does not promise equal files for equal seeds.' }
      : { code: 'no_seed', detail: 'It was made without a seed: chance decides.' }
  return [chance, ...far]
}

function describe(engine: string, model: unknown): string {
  return typeof model === 'string' ? `${engine} (${model})` : engine
}

function describeVersion(version: string | null): string {
  return version === null ? 'a version that nobody named' : `version ${version}`
}
