// The operator's view of the catalog: which models can run, and what their providers say.
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import type { AdminService, ProviderStateSchema } from '../../../gen/mediagen/v1/admin_pb.ts'
import type { Catalog, Model } from '../../catalog/model.ts'
import { listProviders, type ProviderReport } from '../../catalog/providers.ts'
import { needsServer } from '../calls/caller.ts'
import { readPage, refuse } from '../calls/request.ts'

const usualCheckSeconds = 10
const longestCheckSeconds = 60

/** The models and providers of a running server. */
export interface OperatorCatalog extends Pick<Catalog, 'ready' | 'unready'> {
  readonly models: readonly Model[]
  /** As the server knows them. */
  listProviders(): readonly ProviderReport[]
  /** As they answer; each has `timeoutMs`. */
  checkProviders(timeoutMs: number): Promise<readonly ProviderReport[]>
}

/** Creates the operator's part, for AdminService; null where no server runs. */
export function createModelAdmin(catalog: OperatorCatalog | null) {
  const need = (): OperatorCatalog => {
    if (catalog === null) throw needsServer()
    return catalog
  }
  return {
    async listAllModels(request) {
      const { models, unready } = need()
      const { limit, offset } = readPage(request)
      const { provider } = request
      const wanted = provider === '' ? models : models.filter((model) => listProviders(model.engine).includes(provider))
      const states = wanted.map((model) => ({ model, reason: unready(model) }))
      return {
        models: states.slice(offset, offset + limit).map(({ model, reason }) => ({
          model: model.id,
          name: model.name,
          category: model.category,
          kind: model.engine.kind,
          providers: listProviders(model.engine),
          ...(reason !== null && { unreadyReason: reason }),
          priceSummary: model.priceSummary,
        })),
        total: states.length,
        ready: states.filter(({ reason }) => reason === null).length,
      }
    },

    listProviders: () => ({ providers: need().listProviders().map(toProviderMessage) }),

    async checkProviders({ timeoutSeconds = usualCheckSeconds }) {
      if (!(timeoutSeconds > 0 && timeoutSeconds <= longestCheckSeconds))
        refuse([{ pointer: '/timeout_seconds', detail: `must be more than 0 and at most ${longestCheckSeconds}` }])
      return { providers: (await need().checkProviders(timeoutSeconds * 1000)).map(toProviderMessage) }
    },
  } satisfies Partial<ServiceImpl<typeof AdminService>>
}

function toProviderMessage(report: ProviderReport): MessageInitShape<typeof ProviderStateSchema> {
  const { name, kind, answers, key, reason, models } = report
  return {
    provider: name,
    kind,
    ...(answers !== null && { answers }),
    key,
    ...(reason !== null && { reason }),
    models: models.map(({ id, waits_for: waitsFor }) => ({ model: id, ...(waitsFor !== null && { waitsFor }) })),
  }
}
