// An engine over a backend that bills for every run that it accepts: what the port promises, made visible. Its backend is a fake
// in the simulation and a server of its own in the kills.
import {
  type AfterLoss,
  type Engine,
  EngineError,
  type EngineRun,
  type JsonValue,
  OutcomeUnknown,
  type UpstreamRun,
  type UpstreamVerdict,
} from '@mediagen/engine/engine.ts'

/** How a run stands at the backend. */
export type PaidState = 'running' | 'succeeded' | 'failed' | 'canceled'

/** The backend certainly did not get the request. */
export class Unreachable extends Error {}

/** The backend. Anything but Unreachable that it throws says nothing about what it did. */
export interface PaidBackend {
  submit(key: string): Promise<{ readonly id: string } | { readonly refused: 'busy' | 'bad' }>
  look(id: string): Promise<PaidState>
  /** The id of the run with this key; null when it knows none, or does not tell. */
  find(key: string): Promise<string | null>
  cancel(id: string): Promise<PaidState>
  /** Fetches what was made. */
  fetch(id: string, run: EngineRun): Promise<readonly string[]>
  /** Waits before it is asked again. */
  pause(): Promise<void>
}

interface Note {
  readonly state: 'idle' | 'submitting' | 'submitted' | 'fetching'
  readonly n: number
  readonly id: string | null
}

const mostSubmissions = 3

const toNote = (checkpoint: JsonValue): Note => (checkpoint as Note | null) ?? { state: 'idle', n: 0, id: null }

const keyOf = (jobId: string, { n }: Note): string => `${jobId}:${n}`

/** Creates the engine of a kind. */
export function createPaidEngine(kind: string, backend: PaidBackend): Engine {
  const record = ({ n, id }: Note, verdict: UpstreamVerdict): UpstreamRun => ({
    n,
    provider: kind,
    upstreamId: id,
    verdict,
    cost: verdict === 'succeeded' ? { text: '$0.04', amount: 0.04, currency: 'USD' } : null,
  })
  const save = (run: EngineRun, note: Note, verdict: UpstreamVerdict): Promise<void> =>
    run.saveCheckpoint({ ...note }, record(note, verdict))

  /** Submits until it is accepted. */
  async function submit(run: EngineRun, before: Note): Promise<Note> {
    for (let tries = 1, { n } = before; ; tries++) {
      const sending: Note = { state: 'submitting', n: (n += 1), id: null }
      await save(run, sending, 'submitting')
      const answer = await backend.submit(keyOf(run.jobId, sending)).catch((error: unknown) => {
        if (error instanceof Unreachable) return { refused: 'busy' } as const
        throw new OutcomeUnknown('no answer', { cause: error })
      })
      if ('id' in answer) {
        const accepted: Note = { ...sending, state: 'submitted', id: answer.id }
        await save(run, accepted, 'accepted')
        return accepted
      }
      await save(run, { ...sending, state: 'idle' }, 'refused')
      run.signal.throwIfAborted()
      if (answer.refused === 'bad') throw new EngineError('refused', 'The backend refused it.')
      if (tries === mostSubmissions) throw new EngineError('busy', 'The backend is busy.', true)
      await backend.pause()
      run.signal.throwIfAborted()
    }
  }

  /** Waits for the end of what was submitted. A question without an answer says nothing. */
  async function wait(run: EngineRun, note: Note, id: string): Promise<Note> {
    for (;;) {
      run.signal.throwIfAborted()
      const state = await backend.look(id).catch(() => 'running' as const)
      if (state === 'succeeded') {
        const done: Note = { ...note, state: 'fetching' }
        await save(run, done, 'succeeded')
        return done
      }
      if (state !== 'running') {
        // It stays submitted: if this run is lost now, the next one asks again and submits nothing.
        await save(run, note, state)
        throw new EngineError('backend_failed', `The backend says that the run ${state}.`)
      }
      await backend.pause()
    }
  }

  return {
    kind,
    schema: {},
    waits: () => true,
    unready: async () => null,
    afterLoss(_, checkpoint): AfterLoss {
      const { state } = toNote(checkpoint)
      return state === 'idle' ? 'again' : state === 'submitting' ? 'never' : 'continue'
    },
    mayBePaid: (_, checkpoint) => toNote(checkpoint).state === 'submitting',
    async run(_, run) {
      let note = toNote(run.checkpoint)
      if (note.state === 'idle') note = await submit(run, note)
      const id = note.id ?? ''
      if (note.state === 'submitted') await wait(run, note, id)
      for (;;) {
        run.signal.throwIfAborted()
        const files = await backend.fetch(id, run).catch(() => null)
        if (files) return { files, usage: {}, isPaid: true }
        await backend.pause()
      }
    },
    async reconcile(_, { jobId, checkpoint }) {
      const note = toNote(checkpoint)
      const id = await backend.find(keyOf(jobId, note))
      if (id === null) return { state: 'unknown' }
      const found: Note = { ...note, state: 'submitted', id }
      return { state: 'known', checkpoint: { ...found }, upstream: record(found, 'accepted') }
    },
    async cancel(_, { jobId, checkpoint }) {
      const note = toNote(checkpoint)
      const id = note.id ?? (await backend.find(keyOf(jobId, note)))
      if (id === null) throw new Error('the backend knows no such run yet')
      const state = await backend.cancel(id)
      return state === 'running' ? null : record({ ...note, id }, state)
    },
    close: async () => {},
  }
}
