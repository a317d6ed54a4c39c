// The optional terms of a start: a deadline, a priority, how long its outputs are kept, and its labels and its webhook.
import type { ApiKey } from '../core/accounts/key.ts'
import { MediagenError, type Violation } from '../core/errors.ts'
import { longestDeadlineSeconds, priorityRange } from '../core/jobs/fair-queue.ts'
import { findLabelFault, type Labels, mostLabels } from '../core/jobs/labels.ts'
import type { StartCommand } from '../core/store.ts'
import { toPointerToken } from '../schema/violations.ts'
import { findHidden, refuse } from './calls/request.ts'
import { findBadWebhookUrl, type WebhookTargets } from './messages/webhook-endpoint.ts'

const webhookPermission = 'webhooks'
// In characters; names that are refused may be longer than labels have them.
const longestShownName = 80

interface SentTerms {
  readonly expiresInSeconds?: number | undefined
  readonly priority: number
  readonly retainSeconds?: number | undefined
  readonly labels: Labels
  /** Empty for none. */
  readonly webhookUrl: string
}

/** The terms of a start. */
export type Terms = Pick<StartCommand, 'expiresInMs' | 'priority' | 'labels' | 'webhookUrl'> & {
  /** Null for the server's own retention. */
  readonly retainMs: number | null
}

/**
 * Reads the terms of a request.
 * @throws MediagenError `invalid_request`, or `missing_permission` for a webhook of a key that may not say where the server posts
 */
export function readTerms(
  request: SentTerms,
  { permissions }: Pick<ApiKey, 'permissions'>,
  targets: WebhookTargets,
): Terms {
  const { expiresInSeconds, priority, retainSeconds, labels, webhookUrl } = request
  const violations: Violation[] = []
  if (expiresInSeconds !== undefined && (expiresInSeconds < 1 || expiresInSeconds > longestDeadlineSeconds))
    violations.push({ pointer: '/expires_in_seconds', detail: `must be 1 to ${longestDeadlineSeconds} seconds` })
  if (priority < priorityRange.least || priority > priorityRange.most)
    violations.push({ pointer: '/priority', detail: `must be ${priorityRange.least} to ${priorityRange.most}` })
  if (retainSeconds !== undefined && retainSeconds < 1)
    violations.push({ pointer: '/retain_seconds', detail: 'must be 1 or more' })
  violations.push(...findLabelFaults(labels), ...findWebhookFaults(webhookUrl, targets))
  refuse(violations)
  if (webhookUrl !== '' && !permissions.includes(webhookPermission))
    throw new MediagenError(
      'missing_permission',
      `A start with a webhook_url needs a key with the permission ${webhookPermission}.`,
      { permission: webhookPermission },
    )
  return {
    expiresInMs: expiresInSeconds === undefined ? null : expiresInSeconds * 1000,
    priority,
    retainMs: retainSeconds === undefined ? null : retainSeconds * 1000,
    labels,
    webhookUrl: webhookUrl || null,
  }
}

function findWebhookFaults(url: string, targets: WebhookTargets): Violation[] {
  if (url === '') return []
  const detail = findBadWebhookUrl(url, targets)
  return detail === null ? findHidden({ webhook_url: url }) : [{ pointer: '/webhook_url', detail }]
}

/** What is wrong with labels; each violation names its label. */
function findLabelFaults(labels: Labels): Violation[] {
  const entries = Object.entries(labels)
  if (entries.length > mostLabels)
    return [{ pointer: '/labels', detail: `must be at most ${mostLabels} labels, but has ${entries.length}` }]
  return entries.flatMap(([name, value]) => {
    const detail = findLabelFault(name, value)
    return detail === null ? [] : [{ pointer: `/labels/${toPointerToken(name.slice(0, longestShownName))}`, detail }]
  })
}

/**
 * How long outputs are kept. The maximum is a setting; a start from before it was lowered may still be repeated.
 * @throws MediagenError `invalid_request` when that is longer than the server keeps them
 */
export function readRetention({ retainMs }: Terms, longestMs: number): number {
  if (retainMs !== null && retainMs > longestMs)
    refuse([
      {
        pointer: '/retain_seconds',
        detail: `must be 1 to ${longestMs / 1000} seconds, which is how long this server keeps outputs`,
      },
    ])
  return retainMs ?? longestMs
}

/**
 * Parts of the digest of a request: terms that change the outcome must be equal when the request is repeated. Empty for the defaults.
 * Labels and the webhook change nothing about the job, and a client may make them anew for a repeated request.
 */
export function toTermParts({ expiresInMs, priority, retainMs }: Terms): string[] {
  return [
    ...(expiresInMs === null ? [] : [`expires_in_ms=${expiresInMs}`]),
    ...(priority === 0 ? [] : [`priority=${priority}`]),
    ...(retainMs === null ? [] : [`retain_ms=${retainMs}`]),
  ]
}
