// The services behind the pipeline: what every door leads to.
import { AccountService } from '../../gen/mediagen/v1/account_pb.ts'
import { AdminService } from '../../gen/mediagen/v1/admin_pb.ts'
import { CatalogService } from '../../gen/mediagen/v1/catalog_pb.ts'
import { FilesService } from '../../gen/mediagen/v1/files_pb.ts'
import { GenerationService } from '../../gen/mediagen/v1/generation_pb.ts'
import { QuotesService } from '../../gen/mediagen/v1/quotes_pb.ts'
import { WalletService } from '../../gen/mediagen/v1/wallet_pb.ts'
import { WebhooksService } from '../../gen/mediagen/v1/webhooks_pb.ts'
import type { Catalog } from '../catalog/model.ts'
import type { Config } from '../config.ts'
import type { SendTest } from '../core/accounts/webhook.ts'
import type { Store } from '../core/store.ts'
import { createJobFiles } from '../files/job-files.ts'
import { isRefusedHost } from '../outgoing/hosts.ts'
import { findRefusedPort } from '../outgoing/ports.ts'
import { guardService, type PipelineDeps } from '../rpc/pipeline.ts'
import { type AccountLimits, createAccountService } from '../services/account.ts'
import type { OperatorCatalog } from '../services/admin/admin-models.ts'
import { createAdminService } from '../services/admin/admin.ts'
import type { GuardedService } from '../services/calls/service.ts'
import { createCatalogService } from '../services/catalog.ts'
import { createFilesService } from '../services/files.ts'
import { createGenerationService, type GenerationDeps } from '../services/generation.ts'
import { createQuoteBook } from '../services/quote-book.ts'
import { createQuotesService } from '../services/quotes.ts'
import { createWalletService } from '../services/wallet.ts'
import type { WatchBounds } from '../services/watches.ts'
import { createWebhooksService } from '../services/webhooks.ts'
import { followsCaller } from './doors/urls.ts'
import type { Files } from './files.ts'
import { readAdminSettings } from './operator/operator.ts'
import { readWebhookHosts } from './webhooks.ts'

/** How many watches and waits there may be. */
export function readWatchBounds({
  maxWatchesPerAccount,
  maxWatches,
  maxWaitsPerAccount,
  maxWaits,
}: Config): WatchBounds {
  return {
    watches: { perOwner: maxWatchesPerAccount, inAll: maxWatches },
    waits: { perOwner: maxWaitsPerAccount, inAll: maxWaits },
  }
}

/** The limits that apply to every account. */
function readAccountLimits(config: Config): AccountLimits {
  return {
    ...(config.rateLimit > 0 && { requestsPerSecond: config.rateLimit }),
    ...(config.byteRate > 0 && { requestBytesPerSecond: BigInt(config.byteRate) }),
    requestBytes: BigInt(config.maxBodyBytes),
    queuedJobs: BigInt(config.maxQueuedJobs),
    openWatches: BigInt(config.maxWatchesPerAccount),
    uploadBytes: BigInt(config.maxUploadBytes),
    storedUploadBytes: BigInt(config.maxStoredUploadBytes),
    webhooks: config.webhookEndpoints,
    quoteSeconds: config.quoteTtlSeconds,
    waitSeconds: config.waitSeconds,
    retainSeconds: BigInt(config.retainHours) * 3600n,
  }
}

/** What the services need. */
export interface ServiceDeps extends Omit<
  GenerationDeps,
  | 'store'
  | 'urls'
  | 'files'
  | 'downloads'
  | 'quotes'
  | 'log'
  | 'traces'
  | 'waitMs'
  | 'maxQueuedJobs'
  | 'retainMs'
  | 'timeZone'
  | 'topUpUrl'
  | 'webhookTargets'
> {
  readonly store: Store
  readonly sendTest: SendTest
  readonly files: Pick<Files, 'keptBlobs' | 'uploads' | 'folders' | 'urls'>
  readonly catalog: Catalog & OperatorCatalog
  /** Address under which clients reach this server. */
  readonly publicUrl: () => string
}

/** The services behind the pipeline: what every door leads to. */
export function createServices(config: Config, deps: ServiceDeps, pipeline: PipelineDeps): GuardedService[] {
  const { store, catalog, clock, publicUrl } = deps
  const { keptBlobs, uploads, folders, urls } = deps.files
  const quotes = createQuoteBook(store, clock, config.quoteTtlSeconds * 1000)
  const { maxQueuedJobs, maxUploadBytes, timeZone, topUpUrl } = config
  const webhookTargets = {
    isRefusedHost: (host: string) => isRefusedHost(readWebhookHosts(config), host),
    findRefusedPort: (url: URL) => findRefusedPort(config.allowPorts, url),
  }
  const retainMs = config.retainHours * 3_600_000
  const uploadLimits = {
    maxUploadBytes,
    maxStoredBytes: config.maxStoredUploadBytes,
    retainMs,
    stallMs: config.stallSeconds * 1000,
  }
  const generation = createGenerationService({
    store,
    catalog,
    quotes,
    feed: deps.feed,
    watches: deps.watches,
    files: createJobFiles({ store, blobs: keptBlobs, urls }),
    downloads: { inAll: config.maxDownloads, perOwner: config.maxDownloadsPerAddress },
    urls,
    clock,
    log: pipeline.log,
    traces: pipeline.traces,
    isStopping: deps.isStopping,
    waitMs: config.waitSeconds * 1000,
    maxQueuedJobs,
    retainMs,
    timeZone,
    topUpUrl,
    webhookTargets,
  })
  return [
    guardService(
      QuotesService,
      createQuotesService({ catalog, quotes, store, clock, timeZone, log: pipeline.log }),
      pipeline,
    ),
    guardService(GenerationService, generation, pipeline),
    guardService(
      CatalogService,
      createCatalogService({ catalog, baseUrl: followsCaller(config) ? () => '' : publicUrl }),
      pipeline,
    ),
    guardService(
      WalletService,
      createWalletService({ store, clock, timeZone, creditPrice: config.creditPrice }),
      pipeline,
    ),
    guardService(
      AccountService,
      createAccountService({ store, limits: readAccountLimits(config), clock, catalog, timeZone }),
      pipeline,
    ),
    guardService(
      WebhooksService,
      createWebhooksService({
        store,
        targets: webhookTargets,
        maxWebhooks: config.webhookEndpoints,
        sendTest: deps.sendTest,
        tests: { perOwner: config.webhookSlotsPerEndpoint, inAll: config.webhookUnprovenSlots },
      }),
      pipeline,
    ),
    guardService(FilesService, createFilesService({ store, files: uploads, urls, clock, ...uploadLimits }), pipeline),
    guardService(
      AdminService,
      createAdminService({
        store,
        clock,
        folders,
        settings: readAdminSettings(config),
        server: { catalog, urls, feed: deps.feed, watches: deps.watches },
        osUser: null,
      }),
      pipeline,
    ),
  ]
}
