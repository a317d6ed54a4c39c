// "Show as code", run by a real shell whose curl and buf only tell what they were given.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { abridge, quote, toBufCurl, toCurl } from '../../web/code-sample.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-sample-'))
afterAll(() => rmSync(folder, { recursive: true }))

// Each call appends its arguments, NUL-separated; a body from standard input follows the arguments.
const stubs = `
tell() { printf '%s\\0' "$@" >> calls; for last; do case "$last" in @-) cat >> calls;; @*) cat "\${last#@}" >> calls;; esac; done; printf '\\036' >> calls; }
curl() { tell curl "$@"; echo '{"quote_id":"quote_abc","model":"a/quote_id"}'; }
buf() { tell buf "$@"; printf '{\n  "quote": {\n    "quoteId": "quote_abc"\n  }\n}\n'; }
uuidgen() { echo 11111111-2222; }
rm -f calls
`
const input = { prompt: `it's "quoted" $HOME \`id\` \\ and\nnew`, list: [{ blur: 1 }] }
const options = { origin: 'http://127.0.0.1:8080', model: 'builtin/image/art', input }

/** The calls, each as its arguments. */
function run(code: string): string[][] {
  writeFileSync(join(folder, 'run'), `${stubs}\nMEDIAGEN_KEY=mgk_x\n${code}`)
  execFileSync('sh', ['run'], { cwd: folder })
  const calls = execFileSync('cat', [join(folder, 'calls')], { encoding: 'utf8', maxBuffer: 1 << 24 })
  return calls
    .split('\x1e')
    .slice(0, -1)
    .map((call) => call.split('\0'))
}

const bodyOf = (call: string[] | undefined): unknown => JSON.parse(call?.[(call?.indexOf('-d') ?? -2) + 1] ?? '')

test('curl quotes and generates exactly this input', () => {
  const [quoted, generated] = run(toCurl(options))
  expect(quoted).toContain('http://127.0.0.1:8080/v1/quotes')
  expect(quoted).toContain('Authorization: Bearer mgk_x')
  expect(bodyOf(quoted)).toEqual({ model: 'builtin/image/art', input })
  expect(generated).toContain('http://127.0.0.1:8080/v1/generate?wait=true')
  expect(generated).toContain('Idempotency-Key: 11111111-2222')
  expect(bodyOf(generated)).toEqual({ model: 'builtin/image/art', input, quote_id: 'quote_abc' })
})

test('buf curl makes the same two calls', () => {
  const [quoted, started] = run(toBufCurl(options))
  expect(quoted?.slice(0, 4)).toEqual(['buf', 'curl', '--schema', 'proto'])
  expect(quoted).toContain('http://127.0.0.1:8080/mediagen.v1.QuotesService/CreateQuote')
  expect(bodyOf(quoted)).toEqual({ model: 'builtin/image/art', input })
  expect(started).toContain('http://127.0.0.1:8080/mediagen.v1.GenerationService/StartGeneration')
  expect(bodyOf(started)).toEqual({
    model: 'builtin/image/art',
    input,
    quoteId: 'quote_abc',
    idempotencyKey: '11111111-2222',
    wait: true,
  })
})

test('an input longer than an argument may be goes through a file', () => {
  const long = { ...options, input: { image: `data:image/png;base64,${'A'.repeat(300_000)}` } }
  for (const toCode of [toCurl, toBufCurl]) {
    const calls = run(toCode(long))
    expect(calls).toHaveLength(2)
    const [quoted, started] = calls.map((call) => JSON.parse(call.at(-1) ?? ''))
    expect(quoted).toEqual({ model: long.model, input: long.input })
    expect(started).toMatchObject({ model: long.model, input: long.input })
    expect(started.quote_id ?? started.quoteId).toBe('quote_abc')
  }
})

test('long files are cut for showing, nothing else is', () => {
  const uri = `data:image/png;base64,${'A'.repeat(500)}`
  expect(abridge({ image: uri, list: [uri, 'x'.repeat(500)], n: 1, no: null })).toEqual({
    image: `${uri.slice(0, 48)}…`,
    list: [`${uri.slice(0, 48)}…`, 'x'.repeat(500)],
    n: 1,
    no: null,
  })
})

test('a quote within a quoted word', () => {
  expect(quote(`a'b`)).toBe(String.raw`'a'\''b'`)
})
