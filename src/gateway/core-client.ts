// The gateway's clients of the services, in this process or remote.
import { type CallOptions, type Client, createClient, type Transport } from '@connectrpc/connect'
import type { FastifyRequest } from 'fastify'
import { AccountService } from '../../gen/mediagen/v1/account_pb.ts'
import { CatalogService } from '../../gen/mediagen/v1/catalog_pb.ts'
import { FilesService } from '../../gen/mediagen/v1/files_pb.ts'
import { GenerationService } from '../../gen/mediagen/v1/generation_pb.ts'
import { QuotesService } from '../../gen/mediagen/v1/quotes_pb.ts'
import { WalletService } from '../../gen/mediagen/v1/wallet_pb.ts'
import { WebhooksService } from '../../gen/mediagen/v1/webhooks_pb.ts'
import { toTraceHeaders } from '../core/traces.ts'

/** Clients of the services behind REST. */
export interface CoreClient {
  readonly account: Client<typeof AccountService>
  readonly quotes: Client<typeof QuotesService>
  readonly generation: Client<typeof GenerationService>
  readonly catalog: Client<typeof CatalogService>
  readonly wallet: Client<typeof WalletService>
  readonly webhooks: Client<typeof WebhooksService>
  readonly files: Client<typeof FilesService>
}

/** Creates the clients over one transport. */
export function createCoreClient(transport: Transport): CoreClient {
  return {
    account: createClient(AccountService, transport),
    quotes: createClient(QuotesService, transport),
    generation: createClient(GenerationService, transport),
    catalog: createClient(CatalogService, transport),
    wallet: createClient(WalletService, transport),
    webhooks: createClient(WebhooksService, transport),
    files: createClient(FilesService, transport),
  }
}

/** Forwards the caller, its address, its website, the request id and the span of a request to a call. */
export function forward(request: FastifyRequest): CallOptions {
  const { authorization, host = '', origin } = request.headers
  const headers: Record<string, string> = {
    'x-request-id': request.id,
    'x-forwarded-for': request.client,
    'x-forwarded-host': host,
    ...(request.span && toTraceHeaders(request.span.context)),
  }
  if (authorization) headers['authorization'] = authorization
  if (origin) headers['origin'] = origin
  return { headers }
}
