// Rival: Restate behind Fastify; it has no ledger, so holds and settlements are transactions in SQLite. Run by rivals.ts.
import { once } from 'node:events'
import { type ClientHttp2Session, connect, createServer } from 'node:http2'
import { type AddressInfo, connect as connectSocket } from 'node:net'
import { text } from 'node:stream/consumers'
import { restateSdk, toRestateSocket } from './restate.ts'
import { rivalAccount, serveRival } from './rival-http.ts'
import { openRivalLedger } from './rival-ledger.ts'

/** What of its SDK is used here. */
interface Sdk {
  service(service: {
    name: string
    handlers: Readonly<Record<string, (context: unknown, input: { jobId: string }) => Promise<void>>>
  }): object
  createEndpointHandler(options: {
    services: readonly object[]
    bidirectional: boolean
    logger: () => void
  }): Parameters<typeof createServer>[1]
}

const folder = process.argv[2] ?? ''
const ledger = openRivalLedger(`${folder}/rival.db`, rivalAccount)
const sdk = (await import(restateSdk)) as Sdk
let open = 0

const generate = sdk.service({
  name: 'generate',
  handlers: {
    async run(_context, { jobId }) {
      // The work itself is nothing; its end is the settlement.
      ledger.settle(jobId)
      open -= 1
    },
  },
})
// A run has one step, so an answer to each request is cheaper than a stream in both directions.
const endpoint = createServer(
  sdk.createEndpointHandler({ services: [generate], bidirectional: false, logger: () => {} }),
)
await once(endpoint.listen(0, '127.0.0.1'), 'listening')

/** HTTP/2 costs both sides less than HTTP/1.1 here. Its own client uses fetch. */
function connectTo(port: 'admin' | 'ingress'): ClientHttp2Session {
  return connect('http://restate', { createConnection: () => connectSocket(toRestateSocket(folder, port)) })
}

async function post(to: ClientHttp2Session, path: string, body: object, headers: Record<string, string> = {}) {
  const request = to.request({ ':method': 'POST', ':path': path, 'content-type': 'application/json', ...headers })
  request.end(JSON.stringify(body))
  let status = 0
  request.once('response', (answer) => {
    status = answer[':status'] ?? 0
  })
  const answered = await text(request)
  if (status < 200 || status > 299) throw new Error(`Restate: ${status} ${answered}`)
}

const admin = connectTo('admin')
await post(admin, '/deployments', { uri: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}` })
admin.close()
const ingress = connectTo('ingress')

await serveRival(
  {
    async start(order) {
      const job = ledger.start(order)
      open += 1
      // The hold is durable by now; a crash before Restate has the job would leave it to an outbox, which is not here.
      const sent = { jobId: job.job_id, input: order.input }
      await post(ingress, '/generate/run/send', sent, { 'idempotency-key': job.job_id })
      return job
    },
    async close() {
      ingress.close()
      endpoint.close()
      ledger.close()
    },
  },
  () => open,
)
