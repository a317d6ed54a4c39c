// One request as code: curl, Python and TypeScript without a client, and buf curl where an rpc does the same.
import { command, quote } from './code-sample.ts'
import { toPythonLiteral, toTypeScriptLiteral } from './literal.ts'
import type { JsonObject } from './records.ts'

/** A request of the REST interface. */
export interface SampleRequest {
  readonly method: string
  /** With the query. */
  readonly url: string
  readonly needsKey: boolean
  /** Beside the key and the content type. */
  readonly headers: Readonly<Record<string, string>>
  /** A body of JSON. */
  readonly body: JsonObject | null
  /** The type of a file that is the body. */
  readonly fileType: string | null
  /** What is answered. */
  readonly answer: 'json' | 'text' | 'events' | 'file'
  /** The same as an rpc. */
  readonly rpc: { readonly url: string; readonly message: JsonObject } | null
}

const samples: readonly {
  readonly name: string
  readonly note: string
  readonly toCode: (request: SampleRequest) => string | null
}[] = [
  { name: 'curl', note: 'Needs curl.', toCode: toCurl },
  { name: 'Python', note: 'Needs requests (Debian: python3-requests).', toCode: toPython },
  { name: 'TypeScript', note: 'Runs in Node 24 as it is.', toCode: toTypeScript },
  {
    name: 'buf curl',
    note: 'Run this in a checkout of mediagen, whose proto folder has the schema. Needs buf.',
    toCode: toBufCurl,
  },
]

/** The request in every language that can make it. */
export function toSamples(request: SampleRequest): { name: string; note: string; code: string }[] {
  return samples.flatMap(({ name, note, toCode }) => {
    const code = toCode(request)
    return code === null ? [] : [{ name, note, code }]
  })
}

function toCurl({ method, url, needsKey, headers, body, fileType, answer }: SampleRequest): string {
  const usual = body || fileType ? 'POST' : 'GET'
  const options = answer === 'events' ? '-sSN' : '-sS'
  return command(
    `curl ${options} ${method === usual ? '' : `-X ${method} `}${quote(url)}`,
    ...(needsKey ? ['-H "Authorization: Bearer $MEDIAGEN_KEY"'] : []),
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(body ? [`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(body))}`] : []),
    ...(fileType ? [`-H ${quote(`Content-Type: ${fileType}`)}`, '--data-binary @picture.png'] : []),
    ...(answer === 'file' ? ['-o file'] : []),
  )
}

function toPython({ method, url, needsKey, headers, body, fileType, answer }: SampleRequest): string {
  const sent = { ...headers, ...(fileType && { 'Content-Type': fileType }) }
  const lines = Object.entries(sent).map(([name, value]) => `${toPythonLiteral(name)}: ${toPythonLiteral(value)}`)
  if (needsKey) lines.unshift(`"Authorization": f"Bearer {os.environ['MEDIAGEN_KEY']}"`)
  const options = [
    toPythonLiteral(url),
    ...(lines.length > 0 ? [`headers={${lines.join(', ')}}`] : []),
    ...(body ? [`json=${toPythonLiteral(body, '    ')}`] : []),
    ...(fileType ? ['data=open("picture.png", "rb")'] : []),
    ...(answer === 'events' ? ['stream=True'] : []),
  ]
  const shown = {
    json: 'print(answer.status_code, answer.json())',
    text: 'print(answer.status_code, answer.text)',
    events: 'for line in answer.iter_lines(decode_unicode=True):\n    print(line)',
    file: 'open("file", "wb").write(answer.content)',
  }
  return `${needsKey ? 'import os\n' : ''}import requests

answer = requests.${method.toLowerCase()}(
${options.map((option) => `    ${option},\n`).join('')})
${shown[answer]}`
}

function toTypeScript({ method, url, needsKey, headers, body, fileType, answer }: SampleRequest): string {
  const sent: readonly (readonly [string, string])[] = [
    ...(needsKey ? [['authorization', "`Bearer ${process.env['MEDIAGEN_KEY']}`"] as const] : []),
    ...(body ? [['content-type', "'application/json'"] as const] : []),
    ...(fileType ? [['content-type', toTypeScriptLiteral(fileType)] as const] : []),
    ...Object.entries(headers).map(([name, value]) => [name.toLowerCase(), toTypeScriptLiteral(value)] as const),
  ]
  const fields = sent.map(([name, value]) => `${name.includes('-') ? `'${name}'` : name}: ${value}`)
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(fields.length > 0 ? [`headers: { ${fields.join(', ')} }`] : []),
    ...(body ? [`body: JSON.stringify(${toTypeScriptLiteral(body, '  ')})`] : []),
    ...(fileType ? ["body: await openAsBlob('picture.png')"] : []),
  ]
  const imports = [
    ...(fileType ? ["import { openAsBlob } from 'node:fs'"] : []),
    ...(answer === 'file' ? ["import { writeFile } from 'node:fs/promises'"] : []),
  ]
  const shown = {
    json: 'console.log(answer.status, await answer.json())',
    text: 'console.log(answer.status, await answer.text())',
    events:
      'for await (const text of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) process.stdout.write(text)',
    file: "await writeFile('file', await answer.bytes())",
  }
  const call = options.length > 0 ? `, {\n${options.map((option) => `  ${option},\n`).join('')}}` : ''
  const head = imports.length > 0 ? `${imports.join('\n')}\n\n` : ''
  return `${head}const answer = await fetch(${toTypeScriptLiteral(url)}${call})\n${shown[answer]}`
}

function toBufCurl({ rpc, needsKey }: SampleRequest): string | null {
  if (!rpc) return null
  const { url, message } = rpc
  return command(
    'buf curl --schema proto',
    ...(needsKey ? ['-H "Authorization: Bearer $MEDIAGEN_KEY"'] : []),
    ...(Object.keys(message).length > 0 ? [`-d ${quote(JSON.stringify(message))}`] : []),
    quote(url),
  )
}
