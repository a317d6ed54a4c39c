// The records that the console reads: those of the client, which are made from the OpenAPI document.
import type { Job, Json } from '@mediagen/client/records.ts'

export type {
  Account as AccountRecord,
  Category as CategoryRecord,
  Delivery as DeliveryRecord,
  Entry as EntryRecord,
  File as FileRecord,
  Job as JobRecord,
  Key as KeyRecord,
  Json,
  Model as ModelRecord,
  ModelDetail as ModelDetailRecord,
  Output as OutputRecord,
  Page as ListRecord,
  Problem as ProblemRecord,
  Product as ProductRecord,
  Quote as QuoteRecord,
  Sample as SampleRecord,
  Wallet as WalletRecord,
  Webhook as WebhookRecord,
} from '@mediagen/client/records.ts'
export type JsonObject = { [name: string]: Json }
export type JobStatus = Job['status']
