// In which form a client takes an answer: as JSON, or as server-sent events. The protocol asks it to take both; many do not.

/** The forms that clients take. */
const forms = { json: 'application/json', events: 'text/event-stream' } as const

/** What the client has to accept in the eyes of the SDK, so that it answers at all. */
export const acceptsBoth = `${forms.json}, ${forms.events}`

/**
 * An answer of the SDK in a form that the client takes: events where it names them, else JSON, whatever it accepts. Errors are
 * JSON in any case.
 * @param accept the client's header; null if it sent none
 */
export async function toTakenForm(answer: Response, accept: string | null): Promise<Response> {
  const type = answer.headers.get('content-type') ?? ''
  const takesEvents = names(accept, forms.events)
  if (type.startsWith(forms.events) && !takesEvents) return toJson(answer)
  if (type.startsWith(forms.json) && answer.ok && takesEvents && !names(accept, forms.json, 'application/*', '*/*'))
    return withBody(answer, forms.events, toEvent(await answer.text()))
  return answer
}

/** Whether the header has one of these ranges, and does not exclude it. */
function names(accept: string | null, ...ranges: readonly string[]): boolean {
  return (accept ?? '').split(',').some((entry) => {
    const [range = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase())
    return ranges.includes(range) && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
  })
}

/** The one result or error among the events; progress is left out. */
async function toJson(answer: Response): Promise<Response> {
  const messages = (await answer.text()).split(/\r?\n\r?\n/).flatMap((event) => {
    const data = /^data: ?(.+)$/m.exec(event)?.[1]
    return data === undefined ? [] : [data]
  })
  const last = messages.findLast((message) => !Object.hasOwn(JSON.parse(message) as object, 'method'))
  return withBody(answer, forms.json, last ?? '')
}

function toEvent(message: string): string {
  return `event: message\ndata: ${message}\n\n`
}

function withBody({ status, headers }: Response, type: string, body: string): Response {
  const kept = new Headers(headers)
  kept.set('content-type', type)
  return new Response(body, { status, headers: kept })
}
