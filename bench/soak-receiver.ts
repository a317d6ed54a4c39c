// What a server under a soak talks to: it takes webhooks and traces, and refuses a webhook now and then.
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

// One webhook of so many is refused once, and comes again.
const refusedEvery = 50

/** A receiver that listens. */
export interface Receiver extends AsyncDisposable {
  /** Where traces go: the value of OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string
  readonly hookUrl: string
  /** Ids of the jobs whose end was told and accepted. */
  readonly told: ReadonlySet<string>
  /** Requests with traces so far. */
  readonly spanRequests: number
}

/** Starts one. */
export async function startReceiver(): Promise<Receiver> {
  const told = new Set<string>()
  let spanRequests = 0
  let hooks = 0
  const answer = async (request: IncomingMessage): Promise<number> => {
    if (request.url !== '/hook') {
      request.resume()
      spanRequests += 1
      return 200
    }
    const { data } = (await json(request)) as { data: { job_id: string } }
    hooks += 1
    if (hooks % refusedEvery === 0) return 500
    told.add(data.job_id)
    return 204
  }
  const server = createServer((request, response) => {
    void answer(request)
      .catch(() => 400)
      .then((status) => response.writeHead(status).end())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    hookUrl: `${url}/hook`,
    told,
    get spanRequests() {
      return spanRequests
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
