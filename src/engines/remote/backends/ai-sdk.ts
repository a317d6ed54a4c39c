// Google, xAI, Black Forest Labs and ElevenLabs through their packages of the AI SDK, which know how each wants to be asked. Their
// model objects are called directly: the function around them, `generateImage` and the like, repeats paid POSTs.
import { EngineError, type JsonObject } from '@mediagen/engine/engine.ts'
import type { Backend, Place, UpstreamRef, Verdict } from '../backend.ts'
import { NoVerdict, PaidForNothing, Unknown } from '../connection.ts'
import { findReason, toPolledRef, toResult, toStartedRef, toVerdict } from './ai-sdk-answers.ts'
import { fields, toOptions } from './ai-sdk-input.ts'
import { openModel, packageOf, packages, taskOf, toUrlOf } from './ai-sdk-packages.ts'
import { openQuestion, openSubmission } from './ai-sdk-wire.ts'

/** The packages of the AI SDK. */
export const aiSdk: Backend = {
  kind: 'ai-sdk',
  properties: { task: { enum: Object.keys(fields) }, model: { type: 'string', minLength: 1 } },
  required: ['task', 'model'],
  provider: { properties: { package: { enum: Object.keys(packages) } }, required: ['package'] },
  baseUrl: (provider) => packageOf(provider).baseUrl,
  domain: (provider) => packageOf(provider).domain,
  credentials: (token, provider) => packageOf(provider).credentials(token),
  free: false,
  // Pictures of Black Forest Labs are asked for until they are ready.
  blocks: (spec) => taskOf(spec) !== 'video' && spec.provider.package !== 'black-forest-labs',
  findFault(spec) {
    const { tasks } = packageOf(spec.provider)
    if (!tasks.includes(taskOf(spec)))
      return { field: 'task', words: `must be ${tasks.join(' or ')} with the package ${spec.provider.package}` }
    if (spec.provider.package === 'google' && taskOf(spec) === 'image' && !String(spec['model']).startsWith('gemini-'))
      return {
        field: 'model',
        words: 'must begin with "gemini-": the package makes pictures with no other of Google’s',
      }
    return null
  },
  prepare: toOptions,
  // No provider finds a submission again.
  toKey: (_body, uuid) => uuid,
  async submit(submission) {
    const { spec, connection, body } = submission
    const task = taskOf(spec)
    const wire = openSubmission(submission, toUrlOf(submission), aiSdk.blocks(spec))
    const model = await openModel(submission, wire, task)
    try {
      if (task === 'video') {
        const { operation, warnings } = await model.doStart(body as JsonObject)
        connection.warn(warnings)
        return toStartedRef(operation, connection)
      }
      const made = await model.doGenerate(body as JsonObject)
      connection.warn(made.warnings)
      return toResult(made, wire, connection)
    } catch (error) {
      const ref = aiSdk.blocks(spec) ? null : toPolledRef(wire, connection)
      if (ref) return ref
      throw error instanceof PaidForNothing || error instanceof Unknown ? error : wire.explain(error)
    }
  },
  look: askForState,
  find: async () => [],
  async cancel(place, ref) {
    // No package can end a run. One that has ended says so for the record.
    const { state } = await askForState(place, ref)
    return state === 'succeeded' || state === 'failed' ? state : 'unknown'
  },
  greeting: (provider) => packageOf(provider).greeting,
  async unready(place) {
    const { connection, spec } = place
    const { greeting } = packageOf(spec.provider)
    try {
      await openModel(place, openQuestion(connection, toUrlOf(place)), taskOf(spec))
      await connection.ask({ method: 'GET', at: greeting.at }, { also: greeting.also ?? [], large: true })
      return null
    } catch (error) {
      if (error instanceof EngineError) return error.message
      if (error instanceof NoVerdict && greeting.knowsKey?.test(error.message)) return null
      throw error
    }
  },
}

/** Asks for the state of a film, or of whatever else is asked for in the same way. */
async function askForState(place: Place, ref: UpstreamRef): Promise<Verdict> {
  const wire = openQuestion(place.connection, toUrlOf(place))
  const model = await openModel(place, wire, 'video')
  const { quote } = place.connection
  try {
    return toVerdict(await model.doStatus({ operation: ref['operation'] }), quote)
  } catch (error) {
    if (!(error instanceof Error) || !error.name.endsWith('_GENERATION_ERROR')) throw wire.explain(error)
    // It has ended with nothing.
    return { state: 'failed', message: quote(findReason(wire) ?? error.message) }
  }
}
