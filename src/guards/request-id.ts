// The id under which a request is logged and answered.

const sane = /^[\w.:=+/-]{1,128}$/
const prefix = `req_${Date.now().toString(36)}${Math.floor(Math.random() * 36 ** 4).toString(36)}_`
let count = 0
// The gateway reads an id, then the services in the same process read it again: it is matched once.
let latest: string | null = null

/** The client's request id if it is valid, else a new one. */
export function readRequestId(sent: string | readonly string[] | null | undefined): string {
  if (typeof sent === 'string' && (sent === latest || sane.test(sent))) return (latest = sent)
  return (latest = prefix + (++count).toString(36))
}
