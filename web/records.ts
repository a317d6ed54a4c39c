// The records that the console reads: those of the client, which are made from the OpenAPI document.
import type { Job, Json } from '@mediagen/client/records.ts'

export type {
  Account as AccountRecord,
  CreatedKey as CreatedKeyRecord,
  CreatedWebhook as CreatedWebhookRecord,
  Category as CategoryRecord,
  Delivery as DeliveryRecord,
  Entry as EntryRecord,
  File as FileRecord,
  Job as JobRecord,
  Key as KeyRecord,
  LimitedKey as LimitedKeyRecord,
  Limits as LimitsRecord,
  LimitState as LimitStateRecord,
  Json,
  Model as ModelRecord,
  ModelDetail as ModelDetailRecord,
  Money as MoneyRecord,
  Output as OutputRecord,
  OwnKey as OwnKeyRecord,
  Page as ListRecord,
  Problem as ProblemRecord,
  Product as ProductRecord,
  Quote as QuoteRecord,
  RotatedWebhook as RotatedWebhookRecord,
  Sample as SampleRecord,
  Usage as UsageRecord,
  UsageRow as UsageRowRecord,
  Wallet as WalletRecord,
  Webhook as WebhookRecord,
  WebhookTest as WebhookTestRecord,
} from '@mediagen/client/records.ts'
export type JsonObject = { [name: string]: Json }
export type JobStatus = Job['status']
