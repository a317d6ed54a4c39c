// A review that nobody ends is over after MEDIAGEN_REVIEW_HOURS, on whichever server; the credits are back. The clock is held.
// P60.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openCommandLine } from '../cli/command-line.ts'
import { createTestClock } from '../gateway/test-clock.ts'
import { startTestApp } from '../test-app.ts'

const model = 'test/paid/text-to-image'
const minuteMs = 60_000

test('a job under review is released when its time is over, and not before', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-reviews-'))
  try {
    const clock = createTestClock()
    const data = { MEDIAGEN_DATA_DIR: folder, MEDIAGEN_CATALOG: join(import.meta.dirname, 'models.yaml') }
    const worker = await startTestApp(data, { clock })
    const { key } = worker.account
    const gate = worker.gate()
    const { body } = await worker.generate(model, gate.input, { wait: false })
    await gate.begun()
    await worker[Symbol.asyncDispose]()

    await using api = await startTestApp({ ...data, MEDIAGEN_ROLES: 'api', MEDIAGEN_REVIEW_HOURS: '1' }, { clock })
    const read = async () => (await api.send(`/v1/jobs/${body.job_id}`, { key })).body
    clock.ms += 59 * minuteMs
    expect(await read()).toMatchObject({ status: 'needs_review', billing: { held: 10, released: 0 } })
    await using line = openCommandLine({ MEDIAGEN_URL: api.url, MEDIAGEN_KEY: key })
    const { stderr } = await line.run(['watch', body.job_id])
    expect(stderr).toMatch(/credits stay held .* \(job_\w+\)\n$/s)
    expect(stderr).not.toContain('othing was charged')
    clock.ms += 2 * minuteMs
    await expect
      .poll(read)
      .toMatchObject({ status: 'failed', error: { code: 'outcome_unknown' }, billing: { charged: 0, released: 10 } })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
