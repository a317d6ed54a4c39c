// `mediagen usage`: what jobs were charged, as a table with bars, as CSV and as JSON (P299).
import { afterAll, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { openCommandLine } from './command-line.ts'

const app = await startTestApp({ MEDIAGEN_CREDIT_PRICE: '0.01 EUR' })
afterAll(() => app[Symbol.asyncDispose]())
const today = new Date().toISOString().slice(0, 10)
const two = 'test/instant/text-to-image'
const three = 'test/nothing/text-to-image'

/** The command line of an account with three jobs: of three credits for one team, of two for another and for none. */
async function openUser() {
  const account = await app.createAccount(100)
  for (const [model, labels] of [
    [three, { team: 'ads' }],
    [two, { team: 'art' }],
    [two, {}],
  ] as const) {
    const body = { model, input: { prompt: 'x', width: 640 }, max_credits: 9, labels }
    const headers = { 'idempotency-key': crypto.randomUUID() }
    expect((await app.send('/v1/run?wait=true', { key: account.key, headers, body })).status).toBe(200)
  }
  return openCommandLine({ MEDIAGEN_URL: app.url, MEDIAGEN_KEY: account.key })
}

test('a bar a day, also of days without jobs, no line longer than the terminal', async () => {
  await using line = await openUser()
  const before = new Date(Date.parse(today) - 2 * 86_400_000).toISOString().slice(0, 10)
  const { status, stdout } = await line.run(['usage', '--from', before])
  const lines = stdout.trimEnd().split('\n')
  expect([status, lines.length]).toEqual([0, 5])
  expect(lines[0]?.trim()).toBe('day         jobs  succeeded  credits  cost')
  expect(lines[1]).toBe(`${before}  0     0          0        -`)
  expect(lines[3]).toBe(`${today}  3     3          7        0.07 EUR  ${'█'.repeat(32)}`)
  expect(Math.max(...lines.map((one) => one.length))).toBe(80)
  expect(lines[4]).toBe(`${before} to ${today}, UTC: 3 jobs, 3 succeeded, 7 credits (0.07 EUR)`)
})

test('by other groups, as CSV, as JSON, and when there is nothing', async () => {
  await using line = await openUser()
  const { stdout } = await line.run(['usage', '--by', 'label:team,model'])
  expect(stdout).toMatch(/^label:team  model +jobs  succeeded  credits  cost\n/)
  expect(stdout).toMatch(new RegExp(`^ads         ${three} +1 +1 +3 +0.03 EUR +█+$`, 'm'))
  expect(stdout).toMatch(new RegExp(`^-           ${two} +1 +1 +2 +0.02 EUR +█+[▏▎▍▌▋▊▉]?$`, 'm'))
  expect((await line.run(['usage', '--by', 'model', '--limit', '1'])).stdout).toContain('(the first 1 of 2 rows;')
  expect((await line.run(['usage', '--by', 'model', '--csv'])).stdout).toBe(
    `model,jobs,succeeded,charged,cost,currency\r\n${two},2,2,4,0.04,EUR\r\n${three},1,1,3,0.03,EUR\r\n`,
  )
  expect((await line.run(['usage', '--by', 'key'])).stdout).toMatch(/^key_\w+, without a name +3 /m)
  expect(await line.json(['usage', '--by', 'key'])).toMatchObject({ total: 1, sum: { charged: 7 } })
  expect((await line.run(['usage', '--to', '2026-01-31'])).stdout).toBe(
    '(none)\n2026-01-01 to 2026-01-31, UTC: 0 jobs, 0 succeeded, 0 credits (0.00 EUR)\n',
  )
})

test('what is wrong is said', async () => {
  await using line = await openUser()
  for (const [args, words] of [
    [['--by', 'colour'], /^mediagen: --by has "colour", which must be day, model, key, [^\n]+\n$/],
    [
      ['--from', '2026-11-30', '--to', '2026-11-01'],
      /^mediagen: --from must not be after the last day, 2026-11-01\.\n$/,
    ],
    [['--limit', '0'], /must be a whole number, 1 to 10000/],
  ] as const)
    expect(await line.run(['usage', ...args])).toMatchObject({ status: 1, stderr: expect.stringMatching(words) })
})
