// Providers that answer with nonsense: every kind ends its run in words, whatever comes, and sends nothing twice that may be paid
// twice. The credits of such jobs: test/engines/bad-answers.long.test.ts.
import { EngineError, OutcomeUnknown } from '@mediagen/engine/engine.ts'
import { describe, expect, test } from 'vitest'
import { type Fault, html, serveFake } from './fakes/fake.ts'
import { type KindCase, kindCases, secrets } from './kinds.ts'
import { createFastClock, openRemote, outcomeOf, startKeptRun } from './remote-run.ts'

const redirect: Fault = { status: 302, headers: { location: 'http://127.0.0.1:8080/private' } }

async function run(one: KindCase, isBad: (request: string) => boolean, fault: Fault) {
  const clock = createFastClock()
  const { fake, submissions } = one.open(clock.nowMs)
  await using served = await serveFake(fake, ({ method, path }) => (isBad(`${method} ${path}`) ? fault : null))
  await using engine = openRemote(one.kind, secrets, clock)
  await using kept = await startKeptRun({ input: one.input })
  const outcome = await outcomeOf(engine.run(one.toSpec(served.origin), kept))
  return { outcome, submissions: submissions(), verdicts: kept.verdicts() }
}

type Row = readonly [name: string, fault: Fault, words: RegExp]

const always: readonly Row[] = [
  ['a web page', html, /web page/],
  ['a redirect to a private address', redirect, /answered 302/],
  ['ten gigabytes', 'flood', /longer than 1000000 bytes/],
  ['nothing: it vanished', 'cut before', /the connection was cut/],
]
const later: readonly Row[] = [
  ['a web page', html, /At last, .* web page/],
  ['a redirect to a private address', redirect, /At last, .* private address/],
  ['ten gigabytes', 'flood', /At last, .* longer than 1000000 bytes/],
  ['nothing: it vanished', 'cut before', /At last, .* the connection was cut/],
  ['that it goes on, for ever', { status: 200, json: {} }, /took longer than 300 s/],
]

/** In words, with the credits back; or under review where money may have been spent. */
function checkEnd(one: KindCase, { outcome, submissions }: Awaited<ReturnType<typeof run>>, words: RegExp): void {
  const isPaid = ['replicate', 'fal', 'openai', 'ai-sdk'].includes(one.kind)
  expect(String(outcome)).toMatch(words)
  if (isPaid) expect(submissions).toBeLessThanOrEqual(1)
  if (isPaid && outcome instanceof OutcomeUnknown) return
  expect(outcome).toBeInstanceOf(EngineError)
  expect(String(outcome)).toMatch(/Nothing was charged\.$/)
}

describe.each(kindCases)('$title', (one) => {
  test.each(always)('always answers %s', async (_, fault, words) => {
    const ended = await run(one, () => true, fault)
    checkEnd(one, ended, words)
    expect(ended.submissions).toBe(0)
  })

  test.runIf(one.question).each(later)('answers %s once it has accepted the run', async (_, fault, words) => {
    const ended = await run(one, (request) => !one.submission.test(request), fault)
    checkEnd(one, ended, words)
    // Only a run that was ended there is not owed a cancel. Packages of the AI SDK cannot end any.
    const isEnded = typeof fault === 'object' && 'json' in fault && one.kind !== 'ai-sdk'
    expect(isEnded ? ['canceled'] : ['accepted', 'unknown']).toContain(ended.verdicts[1])
  })
})

const named = kindCases.filter(
  ({ title, kind, question }) =>
    ['replicate', 'fal', 'openai video', 'sd-server'].includes(title) || (kind === 'ai-sdk' && question !== null),
)

describe.each(named)('$title', (one) => {
  test.each([
    ['none', null],
    ['an empty one', ''],
    ['one with NUL', 'a\0b'],
    ['a long one', 'x'.repeat(256)],
  ])('an id that cannot be stored is no id: %s', async (_, id) => {
    const { outcome, verdicts } = await run(one, (request) => one.submission.test(request), {
      status: 200,
      json: { id, request_id: id, name: id, polling_url: 'http://127.0.0.1/result' },
    })
    // A free run is submitted again.
    if (one.kind === 'sd-server') expect(outcome).toMatchObject({ code: 'submission_lost' })
    else expect(outcome).toBeInstanceOf(OutcomeUnknown)
    expect(Object.values(verdicts)).not.toContain('accepted')
  })
})

test.each(named.filter(({ title }) => title.includes('black-forest-labs')))(
  '$title: a URL that is too long to be kept is none',
  async (one) => {
    const { outcome, verdicts } = await run(one, (request) => one.submission.test(request), {
      status: 200,
      json: { id: 'r1', polling_url: `http://127.0.0.1/${'x'.repeat(2048)}` },
    })
    expect(outcome).toBeInstanceOf(OutcomeUnknown)
    expect(Object.values(verdicts)).not.toContain('accepted')
  },
)
