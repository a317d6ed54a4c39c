// The check of fakes against what providers publish finds what breaks it, in requests and in answers.
import { expect, test } from 'vitest'
import { type FakeAnswer, type FakeRequest, type FakeUpstream, serveFake } from './fakes/fake.ts'
import { createFakeFal } from './fakes/fal.ts'
import { checkPublished } from './fakes/published.ts'
import { createFakeReplicate } from './fakes/replicate.ts'
import { type KindCase, kindCases, secrets } from './kinds.ts'
import { abandonRun, createFastClock, openRemote, outcomeOf, startKeptRun, toSpec } from './remote-run.ts'

type Kind = Parameters<typeof checkPublished>[0]

const kinds = ['replicate', 'fal', 'cog', 'sd-server'] as const satisfies readonly Kind[]
// Kinds by whose interface they are, and the titles of their cases.
const published: [Kind, string][] = [
  ...kinds.map((kind): [Kind, string] => [kind, kind]),
  ...kindCases
    .filter(({ kind }) => kind === 'ai-sdk')
    .map(({ title }): [Kind, string] => [title.split(' ')[1] as Kind, title]),
]

/** Everything that is said when a run is made, another one canceled, and its model asked for. */
async function collect(one: KindCase): Promise<{ asked: FakeRequest; answer: FakeAnswer }[]> {
  const clock = createFastClock()
  const { fake } = one.open(clock.nowMs)
  const said: { asked: FakeRequest; answer: FakeAnswer }[] = []
  const heard: FakeUpstream = {
    async answer(asked) {
      const answer = await fake.answer(asked)
      said.push({ asked, answer })
      return answer
    },
  }
  await using served = await serveFake(heard)
  await using engine = openRemote(one.kind, secrets, clock)
  const spec = one.toSpec(served.origin)
  await engine.unready(spec)
  await using run = await startKeptRun({ input: one.input })
  expect(await outcomeOf(engine.run(spec, run))).toHaveProperty('files')
  if (one.question) {
    await using other = await startKeptRun({ input: one.input, jobId: 'job_2' })
    await engine.cancel?.(spec, await abandonRun(engine, spec, other))
  }
  return said.filter(({ asked }) => !/^\/(files|delivery)\//.test(asked.path))
}

test.each(published)(
  '%s, %s: every exchange keeps to what is published, and none does without any of its parts',
  async (kind, title) => {
    const said = await collect(kindCases.find((one) => one.title === title) as KindCase)
    let spoiled = 0
    for (const { asked, answer } of said) {
      expect(checkPublished(kind, asked, answer)).toBeNull()
      expect(checkPublished(kind, { ...asked, path: '/elsewhere' }, answer)).toContain('publishes no')
      expect(checkPublished(kind, { ...asked, json: 'text', body: Buffer.from('text') }, null)).toContain(
        'does not take',
      )
      expect(checkPublished(kind, asked, { ...answer, status: 299 })).toContain('answers no 299')
      for (const field of Object.keys(answer.json ?? {})) {
        const { [field]: _, ...rest } = answer.json as Record<string, unknown>
        const wrong = { ...rest, [field]: Symbol.for('nothing like it') }
        // Some fields may be missing, or may be anything.
        const faults = [rest, wrong].map((json) => checkPublished(kind, asked, { ...answer, json }))
        spoiled += faults.filter((fault) => fault?.includes('does not give')).length
      }
    }
    expect(said.length).toBeGreaterThan(1)
    expect(spoiled).toBeGreaterThan(1)
  },
)

test('Replicate is asked for no less than the five seconds that it takes', async () => {
  const clock = createFastClock()
  const fake = createFakeReplicate({ nowMs: clock.nowMs, polls: 0 })
  await using served = await serveFake(fake)
  await using engine = openRemote('replicate', {}, clock)
  await using run = await startKeptRun()
  const spec = toSpec('replicate', `${served.origin}/v1`, { model: 'acme/picture', timeout_seconds: 3 })
  expect(await outcomeOf(engine.run(spec, run))).toHaveProperty('files')
})

test('Replicate and fal are given the address of a webhook in the form that they publish', async () => {
  const clock = createFastClock()
  const webhookOf = async () => 'https://media.test/submissions/a/job_1/1/token'
  const replicate = createFakeReplicate({ nowMs: clock.nowMs })
  const fal = createFakeFal()
  await using first = await serveFake(replicate)
  await using second = await serveFake(fal)
  const specs = [
    toSpec('replicate', `${first.origin}/v1`, { model: `acme/picture:${'0'.repeat(64)}` }),
    toSpec('fal', second.origin, { model: 'fal-ai/flux/dev' }),
  ]
  for (const spec of specs) {
    await using engine = openRemote(spec.kind, {}, { ...clock, webhookOf })
    await using run = await startKeptRun()
    expect(await outcomeOf(engine.run(spec, run))).toHaveProperty('files')
  }
  expect([replicate.predictions[0]?.webhook, fal.queue[0]?.webhook]).toEqual([await webhookOf(), await webhookOf()])
})
