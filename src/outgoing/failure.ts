// Why a request got no answer, in words that reveal nothing about this server's network.

/** How a request failed. */
export interface Failure {
  readonly kind: 'timeout' | 'tls' | 'protocol' | 'connection'
  /** A clause without a full stop, for example `the connection was cut`. */
  readonly words: string
}

// Undici checks a request before it opens a connection.
const refusedByUs = 'UND_ERR_INVALID_ARG'

const connections: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the connection was cut',
  ENOTFOUND: 'the name of the host is unknown',
  EAI_AGAIN: 'the name of the host could not be looked up',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network of the host cannot be reached',
  ENETDOWN: 'the network is down',
  [refusedByUs]: 'a header of the request has a character that none may have',
}

// Errors of connections that were never made.
const unsent = new WeakSet<object>()

/** Notes that a connection could not be made. */
export function markUnsent(error: Error): void {
  unsent.add(error)
}

/** Whether nothing of the request was sent: there was no connection, or it is no valid request. */
export function wasNotSent(error: unknown): boolean {
  return typeof error === 'object' && error !== null && (unsent.has(error) || toFailureCode(error) === refusedByUs)
}

/** Describes an error of undici or of a socket. */
export function toFailure(error: unknown): Failure {
  const code = toFailureCode(error)
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return { kind: 'timeout', words: 'there was no answer in time' }
  if (/CERT|TLS|SSL|ISSUER|SIGNATURE/.test(code))
    return { kind: 'tls', words: `the TLS certificate or handshake was not accepted (${code})` }
  if (code.startsWith('HPE_') || code === 'HTTPParserError' || code === 'UND_ERR_HEADERS_OVERFLOW')
    return { kind: 'protocol', words: 'the answer is not HTTP' }
  return { kind: 'connection', words: connections[code] ?? `the connection failed (${code})` }
}

/** The code of an error, or its name if it has none. */
export function toFailureCode(error: unknown): string {
  // The code of a DOMException is a number that says less than its name.
  const { code, name } = error as { code?: unknown; name?: unknown }
  return String(typeof code === 'string' ? code : name)
}
