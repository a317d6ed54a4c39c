// Webhook endpoints: registered, read, deleted. Deliveries are in deliveries.ts.
import { readPreviousSecrets, retireSecret, secretOverlapMs } from '../../../core/accounts/webhook-secrets.ts'
import type {
  CreateWebhookOutcome,
  SecretRotation,
  SigningEndpoint,
  Webhook,
  WebhookDraft,
} from '../../../core/accounts/webhook.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import { startWebhookNote, toWebhook, webhookColumns, type WebhookRow } from '../../rows.ts'
import type { Database } from '../connection.ts'
import { ofAccount, readPage } from '../pages.ts'
import type { Writing } from '../writing.ts'
import { giveUp } from './deliveries.ts'

const deletedError = 'The endpoint was deleted.'
const live = 'deleted_at IS NULL'

async function createWebhook(tx: Writing, draft: WebhookDraft, limit: number): Promise<CreateWebhookOutcome> {
  const { accountId, includeInput } = draft
  // Those of an account are registered one by one.
  const account = tx.row('SELECT 1 FROM accounts WHERE account_id = :accountId FOR NO KEY UPDATE', { accountId })
  const counted = tx.row<{ count: number }>(
    `SELECT count(*) AS count FROM webhooks WHERE account_id = :accountId AND url <> '' AND ${live}`,
    { accountId },
  )
  if ((await account) === undefined) return { outcome: 'no_account' }
  if (((await counted)?.count ?? 0) >= limit) return { outcome: 'too_many' }
  const now = await tx.nowMs()
  const row = await tx.row<WebhookRow>(
    `INSERT INTO webhooks (webhook_id, account_id, url, description, include_input, secret, created_at)
     VALUES (:webhookId, :accountId, :url, :description, :input, :secret, :now) RETURNING ${webhookColumns}`,
    { ...draft, webhookId: tx.ids.next('wh'), input: includeInput ? 1 : 0, now },
  )
  if (row === undefined) throw new Error('no endpoint was made')
  return { outcome: 'created', webhook: toWebhook(row) }
}

const selectOfStarts = `SELECT ${webhookColumns} FROM webhooks WHERE account_id = :accountId AND url = '' AND ${live}`

async function openStartWebhook(tx: Writing, accountId: string, secret: Uint8Array): Promise<Webhook> {
  // Those of an account are registered one by one.
  const account = tx.row('SELECT 1 FROM accounts WHERE account_id = :accountId FOR NO KEY UPDATE', { accountId })
  const [, found, now] = await Promise.all([account, tx.row<WebhookRow>(selectOfStarts, { accountId }), tx.nowMs()])
  const row =
    found ??
    (await tx.row<WebhookRow>(
      `INSERT INTO webhooks (webhook_id, account_id, url, description, secret, created_at)
       VALUES (:webhookId, :accountId, '', :note, :secret, :now) RETURNING ${webhookColumns}`,
      { webhookId: tx.ids.next('wh'), accountId, note: startWebhookNote, secret, now },
    ))
  if (row === undefined) throw new Error('no endpoint was made')
  return toWebhook(row)
}

async function rotateWebhookSecret(
  tx: Writing,
  accountId: string,
  webhookId: string,
  secret: Uint8Array,
): Promise<SecretRotation | null> {
  const found = await tx.row<{ secret: Buffer; previous: string | null }>(
    `SELECT secret, previous_secrets AS previous FROM webhooks
     WHERE webhook_id = :webhookId AND account_id = :accountId AND ${live} FOR NO KEY UPDATE`,
    { webhookId, accountId },
  )
  if (found === undefined) return null
  const now = await tx.nowMs()
  const row = await tx.row<WebhookRow>(
    `UPDATE webhooks SET secret = :secret, previous_secrets = :previous WHERE webhook_id = :webhookId RETURNING ${webhookColumns}`,
    { webhookId, secret, previous: retireSecret(found.previous, found.secret, now) },
  )
  return row === undefined ? null : { webhook: toWebhook(row), previousUntilMs: now + secretOverlapMs }
}

async function deleteWebhook(tx: Writing, accountId: string, webhookId: string): Promise<boolean> {
  const deleted = await tx.change(
    `UPDATE webhooks SET secret = NULL, previous_secrets = NULL, deleted_at = :now WHERE webhook_id = :webhookId AND account_id = :accountId AND ${live}`,
    { accountId, webhookId, now: await tx.nowMs() },
  )
  if (deleted > 0) await giveUp(tx, webhookId, deletedError)
  return deleted > 0
}

export function createWebhookWrites(ask: <Result>(change: (tx: Writing) => Promise<Result>) => Promise<Result>) {
  return {
    createWebhook: (draft: WebhookDraft, limit: number) => ask((tx) => createWebhook(tx, draft, limit)),
    rotateWebhookSecret: (accountId: string, webhookId: string, secret: Uint8Array) =>
      ask((tx) => rotateWebhookSecret(tx, accountId, webhookId, secret)),
    openStartWebhook: (accountId: string, secret: Uint8Array) => ask((tx) => openStartWebhook(tx, accountId, secret)),
    deleteWebhook: (accountId: string, webhookId: string) => ask((tx) => deleteWebhook(tx, accountId, webhookId)),
  }
}

export function createWebhookReads(db: Database) {
  const listing = { columns: webhookColumns, from: 'webhooks', order: 'webhook_id' }
  return {
    async getWebhook(accountId: string, webhookId: string): Promise<Webhook | null> {
      const sql = `SELECT ${webhookColumns} FROM webhooks WHERE ${live} AND account_id = :accountId AND webhook_id = :webhookId`
      const row = await db.row<WebhookRow>(sql, { accountId, webhookId })
      return row === undefined ? null : toWebhook(row)
    },
    async findStartWebhook(accountId: string): Promise<Webhook | null> {
      const row = await db.row<WebhookRow>(selectOfStarts, { accountId })
      return row === undefined ? null : toWebhook(row)
    },
    async getSigningEndpoint(accountId: string, webhookId: string): Promise<SigningEndpoint | null> {
      const sql = `SELECT url, secret, previous_secrets AS previous, now_ms(:held) AS now FROM webhooks
        WHERE ${live} AND account_id = :accountId AND webhook_id = :webhookId`
      const row = await db.row<{ url: string; secret: Buffer; previous: string | null; now: number }>(sql, {
        accountId,
        webhookId,
      })
      if (row === undefined) return null
      return { webhookId, url: row.url, secrets: [row.secret, ...readPreviousSecrets(row.previous, row.now)] }
    },
    async listWebhooks(accountId: string | null, page: PageRequest): Promise<Page<Webhook>> {
      const { items, total } = await readPage<WebhookRow>(
        db,
        listing,
        [live, ...ofAccount(accountId)],
        { accountId },
        page,
      )
      return { items: items.map(toWebhook), total }
    },
  }
}
