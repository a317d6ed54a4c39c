// The member `error` of a problem: the error as clients of OpenAI's interface read it.
import type { MediagenError } from '../../core/errors.ts'

/** The kinds of errors that OpenAI's interface has. */
export const openaiErrorTypes = [
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'insufficient_quota',
  'rate_limit_error',
  'server_error',
] as const

/** An error as OpenAI's interface writes it. */
export interface OpenaiError {
  readonly message: string
  readonly type: (typeof openaiErrorTypes)[number]
  /** The field that is wrong; null for none. */
  readonly param: string | null
  readonly code: string
}

const typesByStatus: Readonly<Record<number, OpenaiError['type']>> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  429: 'rate_limit_error',
}

/** An error as OpenAI's interface writes it. */
export function toOpenaiError({ code, message, details }: MediagenError, status: number): OpenaiError {
  const type = typesByStatus[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
  const [first] = details.violations ?? []
  return { message, type, param: first ? toDottedName(first.pointer) : null, code }
}

/** `/input/size/0` is `input.size.0`, `?limit` is `limit`; null for the whole body. */
function toDottedName(pointer: string): string | null {
  const name = /^[/?]/.test(pointer) ? pointer.slice(1).replaceAll('/', '.') : pointer
  return name.replaceAll('~1', '/').replaceAll('~0', '~') || null
}
