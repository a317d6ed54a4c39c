// The HTTP form of every error: its status, its title, and the text of the page behind the problem's `type`.
import type { ErrorCode } from '../../core/errors.ts'

/** The properties of an error code over HTTP. */
export interface ProblemKind {
  readonly title: string
  readonly http: number
  /** What happened and what to do, for the page of the problem. */
  readonly help: string
}

export const problemKinds = {
  invalid_request: {
    title: 'Invalid request',
    http: 400,
    help: 'The body is not JSON, has the wrong shape, lacks a field or has an unknown one, or a header or a query parameter is wrong. The detail and the list of errors name each place. Nothing was done; correct the request and send it again.',
  },
  unsupported_media_type: {
    title: 'Unsupported media type',
    http: 415,
    help: 'Request bodies are JSON: send Content-Type: application/json. Only POST /v1/files takes a file, as it is or as multipart/form-data.',
  },
  invalid_input: {
    title: 'Invalid input',
    http: 400,
    help: 'The input breaks the schema of the model. Every violation is listed with a JSON pointer. GET /v1/models/{model} shows the schema in its openapi field.',
  },
  invalid_media: {
    title: 'Invalid media',
    http: 400,
    help: 'The file is not an image, a video or a sound that this server accepts, or its address cannot be read. Its content decides; the detail says what it appears to be. SVG and HTML are not accepted.',
  },
  idempotency_key_required: {
    title: 'Idempotency-Key required',
    http: 400,
    help: 'Starting a generation needs the header Idempotency-Key: one unique value, such as a UUID, for each generation that you intend, and the same value again when you repeat the request.',
  },
  idempotency_key_invalid: {
    title: 'Idempotency-Key invalid',
    http: 400,
    help: 'An Idempotency-Key is 1 to 255 visible ASCII characters, with or without double quotes around it.',
  },
  authentication_required: {
    title: 'Authentication required',
    http: 401,
    help: 'Send the header Authorization: Bearer <API_KEY>.',
  },
  invalid_api_key: {
    title: 'Invalid API key',
    http: 401,
    help: 'The API key is unknown, has expired or was revoked. Ask the operator of this server for a new one.',
  },
  insufficient_credits: {
    title: 'Insufficient credits',
    http: 402,
    help: 'The available credits of the account do not cover the quote. Nothing was held. The fields required and available give the numbers; running jobs may release credits when they end.',
  },
  budget_exceeded: {
    title: 'Budget exceeded',
    http: 402,
    help: 'The start would exceed a limit of the API key, of the key that made it, or of the account. Nothing was held, and the Idempotency-Key is free. The field budget names the limit, what is held, charged and left in its window, and when it renews. GET /v1/key shows every limit; the operator, or whoever made the key, can change it.',
  },
  price_above_maximum: {
    title: 'Price above the maximum',
    http: 402,
    help: 'The generation costs more than the max_credits of the request. Nothing was held, and the Idempotency-Key is free. The field required gives the price; send the request again with a max_credits of at least that, or with an input that costs less.',
  },
  max_credits_required: {
    title: 'Maximum price required',
    http: 402,
    help: "Requests of OpenAI's interface carry no quote, so something else must say what they may cost. The first that is there counts: the header Mediagen-Max-Credits, the field max_credits, the limit per_start of the key, MEDIAGEN_OPENAI_MAX_CREDITS of the server. Nothing was held.",
  },
  missing_permission: {
    title: 'Missing permission',
    http: 403,
    help: 'The API key is valid but lacks the permission that the detail names. Use a key that carries it.',
  },
  account_frozen: {
    title: 'Account frozen',
    http: 403,
    help: 'The operator of this server has frozen or closed the account. It starts nothing and gets no keys until the operator ends that; running jobs go on, and everything can still be read. Nothing was held.',
  },
  model_not_allowed: {
    title: 'Model not allowed',
    http: 403,
    help: 'The API key, or its account, may only use some models, and this is none of them. GET /v1/key shows which. Nothing was held.',
  },
  origin_not_allowed: {
    title: 'Origin not allowed',
    http: 403,
    help: 'The API key may only be used by scripts of some websites, and the request came from another one; a session of a browser only by the pages of this server. Nothing was done.',
  },
  sign_in_refused: {
    title: 'Sign-in refused',
    http: 403,
    help: 'The provider does not vouch for the person, this server does not admit them, or the sign-in was begun in another browser, finished before or too old. The detail says which. Begin again at /sign-in, or ask the operator of this server for access.',
  },
  route_not_found: {
    title: 'Route not found',
    http: 404,
    help: 'Nothing is served at this path. GET /openapi.json lists every route.',
  },
  model_not_found: {
    title: 'Model not found',
    http: 404,
    help: 'The catalog has no model with this id. GET /v1/models lists the models.',
  },
  job_not_found: {
    title: 'Job not found',
    http: 404,
    help: 'The account of this key has no job with this id.',
  },
  quote_not_found: {
    title: 'Quote not found',
    http: 404,
    help: 'The quote id was not issued by this server to the account of this key, or it was altered. Ask for a new quote.',
  },
  account_not_found: {
    title: 'Account not found',
    http: 404,
    help: 'There is no account with this id.',
  },
  key_not_found: {
    title: 'Key not found',
    http: 404,
    help: 'There is no API key with this id.',
  },
  asset_not_found: {
    title: 'Asset not found',
    http: 404,
    help: 'There is no file at this address, or the signature of its URL is wrong or has expired. Read the job or the upload again for a fresh URL.',
  },
  file_not_found: {
    title: 'File not found',
    http: 404,
    help: 'The account of this key has no upload with this id, or it was deleted or has expired. GET /v1/files lists the uploads.',
  },
  webhook_not_found: {
    title: 'Webhook not found',
    http: 404,
    help: 'The account of this key has no webhook endpoint with this id. GET /v1/webhooks lists the endpoints.',
  },
  delivery_not_found: {
    title: 'Delivery not found',
    http: 404,
    help: 'There is no webhook delivery with this id.',
  },
  session_not_found: {
    title: 'Session not found',
    http: 404,
    help: 'There is no session with this id.',
  },
  method_not_allowed: {
    title: 'Method not allowed',
    http: 405,
    help: 'The route exists, but not with this method. The header Allow lists the methods it takes.',
  },
  request_timeout: {
    title: 'Request timeout',
    http: 408,
    help: 'The rest of the request arrived too slowly or not at all. Nothing of it was kept. Send it again; over a slow connection the operator may allow more time (MEDIAGEN_STALL_SECONDS).',
  },
  quote_expired: {
    title: 'Quote expired',
    http: 409,
    help: 'A quote is valid until its expires_at, at most 10 minutes after it was made. Ask for a new one.',
  },
  quote_mismatch: {
    title: 'Quote mismatch',
    http: 409,
    help: 'A quote is valid only for the model and the exact input it was made for. The detail says which of the two differs. Send what was quoted, or ask for a new quote.',
  },
  idempotency_key_reused: {
    title: 'Idempotency-Key reused',
    http: 409,
    help: 'This Idempotency-Key already started a generation with another model, input, quote, maximum price, deadline, priority or retention. Use a new key for a new generation.',
  },
  reference_reused: {
    title: 'Reference reused',
    http: 409,
    help: 'This reference already belongs to a grant of other credits, or to another account. Nothing was granted. Repeat a grant exactly as it was, or use a new reference for a new payment.',
  },
  account_closed: {
    title: 'Account closed',
    http: 409,
    help: 'A closed account stays as it is: it gets no name, no credits and no keys. Corrections of its balance are still made.',
  },
  job_not_in_review: {
    title: 'Job not in review',
    http: 409,
    help: 'Only a job whose outcome is unknown (status needs_review) can be resolved by an operator.',
  },
  job_not_ended: {
    title: 'Job not ended',
    http: 409,
    help: 'Only a job that has ended can be deleted, and only an account whose jobs have ended can be closed. Cancel a queued or running job first; a job under review can be deleted once its review is over.',
  },
  too_many_webhooks: {
    title: 'Too many webhooks',
    http: 409,
    help: 'The account has reached its limit of webhook endpoints. Delete one with DELETE /v1/webhooks/{webhook_id} before registering another.',
  },
  too_many_uploads: {
    title: 'Too many uploads',
    http: 409,
    help: 'The uploads of the account have used up the disk space that they are allowed. Delete some with DELETE /v1/files/{file_id}, or wait until some expire.',
  },
  payload_too_large: {
    title: 'Payload too large',
    http: 413,
    help: 'The request body is larger than this server accepts. The detail names the limit.',
  },
  rate_limited: {
    title: 'Rate limited',
    http: 429,
    help: 'This key has sent more than it is allowed, or too many invalid keys came from this address. Wait for the time in Retry-After, then continue.',
  },
  too_many_jobs: {
    title: 'Too many jobs',
    http: 429,
    help: 'The account has reached its limit of queued jobs. Nothing was held. Wait until some have started, then send the request again with the same Idempotency-Key.',
  },
  internal: {
    title: 'Internal error',
    http: 500,
    help: 'This is a bug in the server. Its log holds the cause under the request id. You can safely start a generation again with the same Idempotency-Key.',
  },
  model_unavailable: {
    title: 'Model unavailable',
    http: 503,
    help: 'The model exists, but its engine is not ready on this server. Nothing was held.',
  },
  model_ended: {
    title: 'Model ended',
    http: 410,
    help: 'The model has ended: whoever provides it makes nothing with it any more. The detail names its successor, if there is one. Nothing was held.',
  },
  generation_failed: {
    title: 'Generation failed',
    http: 502,
    help: "A request of OpenAI's interface started a job that did not succeed. The detail names the job and why. Nothing was charged.",
  },
  generation_unfinished: {
    title: 'Generation not finished',
    http: 504,
    help: "A request of OpenAI's interface waited as long as this server waits, and its job goes on. The detail names the job: GET /v1/jobs/{job_id} has the outputs once it has ended. The same request within ten minutes waits for the same job.",
  },
  shutting_down: {
    title: 'Shutting down',
    http: 503,
    help: 'The server is stopping. Nothing was held. Send the request again with the same Idempotency-Key.',
  },
  sign_in_unavailable: {
    title: 'Sign-in unavailable',
    http: 503,
    help: 'The provider at which people sign in does not answer, or not as one that this server can use. Its log holds the cause. API keys and open sessions work as usual.',
  },
  overloaded: {
    title: 'Overloaded',
    http: 503,
    help: 'The server has more work than it can do in time, and refuses some requests so that it can answer the others. Nothing was held. Wait for the time in Retry-After, then send the request again with the same Idempotency-Key. If the detail says that a list takes too long to read, narrow the list first: ask for a smaller offset, or name a filter such as status or model.',
  },
  storage_unavailable: {
    title: 'Storage unavailable',
    http: 503,
    help: 'The disk, the database or the file store of this server cannot be written to right now. Nothing was held, unless the detail says that the change may have been made. Wait for the time in Retry-After, then send the request again with the same Idempotency-Key.',
  },
} as const satisfies Record<ErrorCode, ProblemKind>
