// Ids in paths. An empty one, or one of dots, would lead to another path; no server has such an id, so it is not asked.
import { Refused } from './errors.ts'

/** The path of a job. @throws Refused `job_not_found` */
export function toJobPath(id: string): string {
  return `/v1/jobs/${toSegment(id, () => notFound('job', id))}`
}

/** The path of an upload. @throws Refused `file_not_found` */
export function toFilePath(id: string): string {
  return `/v1/files/${toSegment(id, () => notFound('file', id))}`
}

/** The path of a model, slashes included. @throws Refused `model_not_found` */
export function toModelPath(id: string): string {
  // The categories of all models are below the same path.
  if (id === 'categories') throw notFound('model', id)
  const segments = id.split('/').map((segment) => toSegment(segment, () => notFound('model', id)))
  return `/v1/models/${segments.join('/')}`
}

/** The path of a webhook endpoint. @throws Refused `webhook_not_found` */
export function toWebhookPath(id: string): string {
  return `/v1/webhooks/${toSegment(id, () => notFound('webhook', id))}`
}

/** The path of a delivery to an endpoint. @throws Refused `webhook_not_found`, `delivery_not_found` */
export function toDeliveryPath(webhookId: string, deliveryId: string): string {
  return `${toWebhookPath(webhookId)}/deliveries/${toSegment(deliveryId, () => notFound('delivery', deliveryId))}`
}

function toSegment(text: string, refuse: () => Refused): string {
  if (text === '' || text === '.' || text === '..') throw refuse()
  try {
    return encodeURIComponent(text)
  } catch {
    // A lone surrogate, which no id has.
    throw refuse()
  }
}

function notFound(kind: 'job' | 'file' | 'model' | 'webhook' | 'delivery', id: string): Refused {
  const detail = `There is no ${kind} "${id}".`
  const problem = { type: 'about:blank', title: `No such ${kind}`, status: 404, detail, code: `${kind}_not_found` }
  return new Refused({ ...problem, retryable: false, request_id: '' })
}
