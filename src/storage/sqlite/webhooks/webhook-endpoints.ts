// Webhook endpoints: registered, read, deleted, disabled. Deliveries are in deliveries.ts.
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
import type { Connection } from '../connection.ts'
import { createPages, ofAccount } from '../pages.ts'
import type { Writing } from '../threads/writing.ts'
import { createGiveUp } from './deliveries.ts'

const deletedError = 'The endpoint was deleted.'

export function createWebhookCommands(writing: Writing) {
  const { db, nowMs, ids } = writing
  const giveUp = createGiveUp(writing)
  const accountExists = db.prepare<[string], number>('SELECT 1 FROM accounts WHERE account_id = ?').pluck()
  const count = db
    .prepare<[string], number>(
      "SELECT count(*) FROM webhooks WHERE account_id = ? AND url <> '' AND deleted_at IS NULL",
    )
    .pluck()
  const insert = db.prepare<[string, string, string, string | null, number, Uint8Array, number], WebhookRow>(
    `INSERT INTO webhooks (webhook_id, account_id, url, description, include_input, secret, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING ${webhookColumns}`,
  )
  const forget = db.prepare<[number, string, string]>(
    'UPDATE webhooks SET secret = NULL, previous_secrets = NULL, deleted_at = ? WHERE webhook_id = ? AND account_id = ? AND deleted_at IS NULL',
  )
  const findSecrets = db.prepare<[string, string], { secret: Uint8Array; previous: string | null }>(
    'SELECT secret, previous_secrets AS previous FROM webhooks WHERE webhook_id = ? AND account_id = ? AND deleted_at IS NULL',
  )
  const replaceSecret = db.prepare<[Uint8Array, string, string], WebhookRow>(
    `UPDATE webhooks SET secret = ?, previous_secrets = ? WHERE webhook_id = ? RETURNING ${webhookColumns}`,
  )
  const findOfStarts = createStartWebhookFinder(db)
  return {
    createWebhook(draft: WebhookDraft, limit: number): CreateWebhookOutcome {
      const { accountId, url, description, includeInput, secret } = draft
      if (accountExists.get(accountId) === undefined) return { outcome: 'no_account' }
      if ((count.get(accountId) ?? 0) >= limit) return { outcome: 'too_many' }
      const row = insert.get(ids.next('wh'), accountId, url, description, includeInput ? 1 : 0, secret, nowMs())
      if (row === undefined) throw new Error('no endpoint was made')
      return { outcome: 'created', webhook: toWebhook(row) }
    },

    openStartWebhook(accountId: string, secret: Uint8Array): Webhook {
      const found = findOfStarts(accountId)
      if (found) return found
      const row = insert.get(ids.next('wh'), accountId, '', startWebhookNote, 0, secret, nowMs())
      if (row === undefined) throw new Error('no endpoint was made')
      return toWebhook(row)
    },

    rotateWebhookSecret(accountId: string, webhookId: string, secret: Uint8Array): SecretRotation | null {
      const found = findSecrets.get(webhookId, accountId)
      if (found === undefined) return null
      const row = replaceSecret.get(secret, retireSecret(found.previous, found.secret, nowMs()), webhookId)
      return row === undefined ? null : { webhook: toWebhook(row), previousUntilMs: nowMs() + secretOverlapMs }
    },

    deleteWebhook(accountId: string, webhookId: string): boolean {
      if (forget.run(nowMs(), webhookId, accountId).changes === 0) return false
      giveUp(webhookId, deletedError)
      return true
    },
  }
}

function createStartWebhookFinder(db: Connection): (accountId: string) => Webhook | null {
  const find = db.prepare<[string], WebhookRow>(
    `SELECT ${webhookColumns} FROM webhooks WHERE account_id = ? AND url = '' AND deleted_at IS NULL`,
  )
  return (accountId) => {
    const row = find.get(accountId)
    return row === undefined ? null : toWebhook(row)
  }
}

export function createWebhookReads(db: Connection, nowMs: () => number) {
  const live = 'deleted_at IS NULL'
  const find = db.prepare<[string, string], WebhookRow>(
    `SELECT ${webhookColumns} FROM webhooks WHERE ${live} AND account_id = ? AND webhook_id = ?`,
  )
  const findSigning = db.prepare<[string, string], { url: string; secret: Buffer; previous: string | null }>(
    `SELECT url, secret, previous_secrets AS previous FROM webhooks WHERE ${live} AND account_id = ? AND webhook_id = ?`,
  )
  const pages = createPages<WebhookRow>(db, webhookColumns, 'webhooks', 'webhook_id')
  return {
    getWebhook(accountId: string, webhookId: string): Webhook | null {
      const row = find.get(accountId, webhookId)
      return row === undefined ? null : toWebhook(row)
    },
    findStartWebhook: createStartWebhookFinder(db),
    getSigningEndpoint(accountId: string, webhookId: string): SigningEndpoint | null {
      const row = findSigning.get(accountId, webhookId)
      if (row === undefined) return null
      return { webhookId, url: row.url, secrets: [row.secret, ...readPreviousSecrets(row.previous, nowMs())] }
    },
    listWebhooks(accountId: string | null, page: PageRequest): Page<Webhook> {
      const { items, total } = pages.read([live, ...ofAccount(accountId)], { accountId }, page)
      return { items: items.map(toWebhook), total }
    },
  }
}
