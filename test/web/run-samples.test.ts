// "Show as code" in every language, run against a real server: each makes the picture of the input, hostile letters and all.
import { readdirSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { samples } from '../../web/code-sample.ts'
import { toPythonLiteral, toTypeScriptLiteral } from '../../web/literal.ts'
import { startTestApp } from '../test-app.ts'
import { createPlace, missing } from './run-code.ts'

const app = await startTestApp()
const place = createPlace(app.account.key)
afterAll(async () => {
  place[Symbol.dispose]()
  await app[Symbol.asyncDispose]()
})

const prompt = `it's "quoted" $HOME \`id\` \\ \${x} {y} Ünïcode 🎨 and\nnew`
const model = 'test/instant/text-to-image'

describe('code that makes an input', () => {
  for (const { name, toCode } of samples)
    test.skipIf(missing[name])(
      `${name} starts exactly this input${missing[name] ? ` (SKIPPED: ${missing[name]})` : ''}`,
      async () => {
        const before = (await app.send(`/v1/jobs?model=${model}`)).body.total
        const printed = await place.run(name, toCode({ origin: app.url, model, input: { prompt } }))
        const { body } = await app.send(`/v1/jobs?model=${model}&limit=1`)
        expect(body.total).toBe(before + 1)
        const [job] = body.data
        expect([job.status, job.input]).toEqual(['succeeded', { prompt }])
        if (name === 'Python' || name === 'TypeScript') expect(readdirSync(place.folder)).toContain(printed.trim())
        else expect(printed).toContain(job.job_id)
      },
    )
})

// Every kind of value, and letters that end strings, templates and lines elsewhere.
const values = {
  'a key': [true, false, null, 0, -1.5, 1e21, '', `'"\\\${x}\u2028\n`],
  _k: { nested: [{ deep: [] }, {}, 'é🎨'] },
  constructor: 'x',
}

test.skipIf(missing['Python'])('a literal of Python is the value', async () => {
  const printed = await place.run('Python', `import json\nprint(json.dumps(${toPythonLiteral(values)}))`)
  expect(JSON.parse(printed)).toEqual(values)
})

test('a literal of TypeScript is the value', async () => {
  const printed = await place.run('TypeScript', `console.log(JSON.stringify(${toTypeScriptLiteral(values)}))`)
  expect(JSON.parse(printed)).toEqual(values)
})
