// cog: a model server of the operator's (cog.run/http). A run is one synchronous PUT, because the results of asynchronous ones may
// be paths inside the container, and a prediction cannot be read (GET is 405).
import type { Backend } from '../backend.ts'
import { Failed, isObject, PaidForNothing, toReason, Unknown } from '../connection.ts'
import { completeInput } from '../media/media-input.ts'
import { toJsonBody } from '../media/multipart.ts'
import { findOutputs, toNumbers } from '../media/outputs.ts'

/** cog. */
export const cog: Backend = {
  kind: 'cog',
  properties: {},
  required: [],
  baseUrl: null,
  credentials: (token) => ({ authorization: `Bearer ${token}` }),
  free: true,
  blocks: () => true,
  // 409: every slot is taken. 503: the model is being set up.
  busy: [409, 503],
  prepare: async (preparation) => ({ input: await completeInput(preparation) }),
  toKey: (_body, uuid) => uuid,
  async submit({ connection, body, key, timeoutMs, signal }) {
    const { status, json } = await connection.submit(
      { method: 'PUT', at: `/predictions/${key}`, ...toJsonBody(body), ...(signal && { signal }) },
      { timeoutMs, busy: [409, 503], large: true },
    )
    const said = isObject(json) ? json : {}
    // 202: the prediction runs already, and this answer is not its result.
    if (status === 202) throw new Unknown(`${connection.provider} still runs it`)
    if (said['status'] === 'failed')
      throw new Failed(connection.quote(said['error'] ?? 'the run failed without a reason'))
    if (said['status'] === 'canceled') throw new Failed('the run was canceled there')
    if (said['status'] !== 'succeeded')
      throw new PaidForNothing(`answered without a prediction${toReason(json, connection)}`)
    return { outputs: findOutputs(said['output']), usage: toNumbers(said['metrics']), cost: null }
  },
  // Not needed: the answer to the submission is the result.
  look: async () => ({ state: 'gone' }),
  async find({ connection }, { key }) {
    await connection.ask({ method: 'POST', at: `/predictions/${key}/cancel` }, { also: [404] })
    return 'absent'
  },
  cancel: async () => 'canceled',
  greeting: { at: '/health-check', also: [503] },
  isReadyAsWhole: true,
  async unready({ connection }) {
    const { json } = await connection.ask({ method: 'GET', at: '/health-check' }, { also: [503] })
    const status = isObject(json) ? String(json['status']) : 'no cog server'
    return status === 'READY' || status === 'BUSY' ? null : `${connection.provider} says ${connection.quote(status)}`
  },
}
