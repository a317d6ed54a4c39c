// An input as code that makes it: curl for REST, the clients for Python and TypeScript, buf curl for the same services.
import { toPythonLiteral, toTypeScriptLiteral } from './literal.ts'
import type { Json, JsonObject } from './records.ts'

export interface SampleOptions {
  readonly origin: string
  readonly model: string
  readonly input: JsonObject
}

// Linux limits a single argument to 128 KiB; longer bodies go through a file.
const longestArgument = 100_000
// Long values are cut in the display, but copied in full.
const shownCharacters = 96

// One key for each intended generation; repeating the last command with it starts nothing new.
const newKey = 'KEY=$(uuidgen 2>/dev/null || cat /proc/sys/kernel/random/uuid)'
// The id of the quote in an answer of REST or of gRPC.
const readQuote = String.raw`sed -n 's/.*"quote_*[iI]d": *"\([^"]*\)".*/\1/p'`

/** Quotes, then generates, over REST. */
export function toCurl({ origin, model, input }: SampleOptions): string {
  const request = { model, input }
  const text = JSON.stringify(request)
  const headers = [`-H "Authorization: Bearer $MEDIAGEN_KEY"`, `-H 'Content-Type: application/json'`]
  if (text.length > longestArgument) {
    return [
      ...toFile(text),
      `QUOTE=$(${command(`curl -sS ${quote(`${origin}/v1/quotes`)}`, ...headers, `-d @request.json | ${readQuote})`)}`,
      newKey,
      '',
      command(
        String.raw`sed "s/}\$/,\"quote_id\":\"$QUOTE\"}/" request.json |`,
        `curl -sS ${quote(`${origin}/v1/generate?wait=true`)}`,
        ...headers,
        `-H "Idempotency-Key: $KEY"`,
        '-d @-',
      ),
    ].join('\n')
  }
  return [
    `QUOTE=$(${command(`curl -sS ${quote(`${origin}/v1/quotes`)}`, ...headers, `-d ${quote(text)} | ${readQuote})`)}`,
    newKey,
    '',
    command(
      `curl -sS ${quote(`${origin}/v1/generate?wait=true`)}`,
      ...headers,
      `-H "Idempotency-Key: $KEY"`,
      `-d ${quote(`${text.slice(0, -1)},"quote_id":"`)}"$QUOTE"'"}'`,
    ),
  ].join('\n')
}

/** The same with the client for Python. */
export function toPython({ origin, model, input }: SampleOptions): string {
  return [
    'import mediagen',
    '',
    `client = mediagen.Client(${toPythonLiteral(origin)})  # the key is in MEDIAGEN_KEY`,
    `job = client.generate(${toPythonLiteral(model)}, ${toPythonLiteral(input)})`,
    'for number, output in enumerate(job["outputs"]):',
    `    print(client.download(output, f"output-{number}.{output['content_type'].split('/')[1]}"))`,
  ].join('\n')
}

/** The same with the client for TypeScript. */
export function toTypeScript({ origin, model, input }: SampleOptions): string {
  return [
    "import { writeFile } from 'node:fs/promises'",
    "import { createClient } from '@mediagen/client'",
    '',
    `const mediagen = createClient({ url: ${toTypeScriptLiteral(origin)}, key: process.env['MEDIAGEN_KEY'] ?? '' })`,
    `const job = await mediagen.generate(${toTypeScriptLiteral(model)}, ${toTypeScriptLiteral(input)})`,
    'for (const [number, output] of job.outputs.entries()) {',
    '  const file = await mediagen.download(output)',
    "  const name = `output-${number}.${file.type.split('/')[1]}`",
    '  await writeFile(name, file.stream())',
    '  console.log(name)',
    '}',
  ].join('\n')
}

/** The same two calls with buf, to run in a checkout of mediagen, whose proto folder has the schema. */
export function toBufCurl({ origin, model, input }: SampleOptions): string {
  const text = JSON.stringify({ model, input })
  const long = text.length > longestArgument
  const call = (rpc: string): string => quote(`${origin}/mediagen.v1.${rpc}`)
  const options = ['--schema proto', `-H "Authorization: Bearer $MEDIAGEN_KEY"`]
  const start = [
    ...options,
    long
      ? '-d @-'
      : `-d ${quote(`${text.slice(0, -1)},"wait":true,"quoteId":"`)}"$QUOTE"'","idempotencyKey":"'"$KEY"'"}'`,
  ]
  const extend = String.raw`sed "s/}\$/,\"wait\":true,\"quoteId\":\"$QUOTE\",\"idempotencyKey\":\"$KEY\"}/" request.json |`
  return [
    ...(long ? toFile(text) : []),
    `QUOTE=$(${command('buf curl', ...options, `-d ${long ? '@request.json' : quote(text)}`, `${call('QuotesService/CreateQuote')} | ${readQuote})`)}`,
    newKey,
    '',
    command(...(long ? [extend] : []), 'buf curl', ...start, call('GenerationService/StartGeneration')),
  ].join('\n')
}

/** How to make an input in every language. */
export const samples = [
  { name: 'curl', toCode: toCurl, note: 'Needs curl.' },
  {
    name: 'Python',
    toCode: toPython,
    note: 'Needs requests, and mediagen.py beside it: packages/client/python in a checkout of mediagen.',
  },
  {
    name: 'TypeScript',
    toCode: toTypeScript,
    note: 'Runs as JavaScript, too, saved as .mjs. Needs Node 20 and the client: npm pack ./packages/client in a checkout of mediagen makes the file to npm install.',
  },
  {
    name: 'buf curl',
    toCode: toBufCurl,
    note: 'Run this in a checkout of mediagen, whose proto folder has the schema. Needs buf.',
  },
] as const

/** The input with long values cut, for display. */
export function abridge(value: Json): Json {
  if (typeof value === 'string') {
    return value.startsWith('data:') && value.length > shownCharacters
      ? `${value.slice(0, shownCharacters / 2)}…`
      : value
  }
  if (Array.isArray(value)) return value.map(abridge)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, abridge(part)]))
}

/** A word of a POSIX shell, taken literally. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

function toFile(text: string): string[] {
  return [`cat > request.json <<'JSON'`, text, 'JSON', '']
}

/** Joins the parts of a command, one per line; a part that ends in a pipe needs no backslash. */
export function command(...parts: string[]): string {
  return parts.reduce(
    (text, part) => (text === '' ? part : text.endsWith('|') ? `${text}\n  ${part}` : `${text} \\\n  ${part}`),
    '',
  )
}
