// The current input as commands for a shell: curl for REST, buf curl for the same services over Connect or gRPC.
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

/** Quotes, then generates, over REST. */
export function toCurl({ origin, model, input }: SampleOptions): string {
  const request = { model, input }
  const text = JSON.stringify(request)
  const headers = [`-H "Authorization: Bearer $MEDIAGEN_KEY"`, `-H 'Content-Type: application/json'`]
  if (text.length > longestArgument) {
    return [
      ...toFile(text),
      `QUOTE=$(${command(`curl -sS ${quote(`${origin}/v1/quotes`)}`, ...headers, '-d @request.json | jq -r .quote_id)')}`,
      newKey,
      '',
      command(
        `jq -c --arg quote "$QUOTE" '. + {quote_id: $quote}' request.json |`,
        `curl -sS ${quote(`${origin}/v1/generate?wait=true`)}`,
        ...headers,
        `-H "Idempotency-Key: $KEY"`,
        '-d @-',
      ),
    ].join('\n')
  }
  return [
    `QUOTE=$(${command(`curl -sS ${quote(`${origin}/v1/quotes`)}`, ...headers, `-d ${quote(text)} | jq -r .quote_id)`)}`,
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
  const extend = `jq -c --arg quote "$QUOTE" --arg key "$KEY" '. + {quoteId: $quote, idempotencyKey: $key, wait: true}' request.json |`
  return [
    ...(long ? toFile(text) : []),
    `QUOTE=$(${command('buf curl', ...options, `-d ${long ? '@request.json' : quote(text)}`, `${call('QuotesService/CreateQuote')} | jq -r .quote.quoteId)`)}`,
    newKey,
    '',
    command(...(long ? [extend] : []), 'buf curl', ...start, call('GenerationService/StartGeneration')),
  ].join('\n')
}

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
function command(...parts: string[]): string {
  return parts.reduce(
    (text, part) => (text === '' ? part : text.endsWith('|') ? `${text}\n  ${part}` : `${text} \\\n  ${part}`),
    '',
  )
}
