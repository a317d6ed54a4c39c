// Makes the pages that repeat what the code says: `npm run docs`. test/docs.test.ts holds the pages against the code.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { createRouterTransport } from '@connectrpc/connect'
import type { Command, Option } from 'commander'
import Fastify from 'fastify'
import { listVisible } from '../src/cli/user/completion.ts'
import { generalSettings } from '../src/config.ts'
import { permissions } from '../src/core/accounts/key.ts'
import { addRoutes, type RouteDeps } from '../src/gateway/server.ts'
import { limitGroups } from '../src/limits.ts'
import { createProgram } from '../src/main.ts'
import { addOpenaiRoutes } from '../src/openai/routes.ts'
import { traceSettings } from '../src/trace-settings.ts'
import { readCitations, readPromises, type Citation } from './promises.ts'

const limitsHead = `# Limits

Every limit is a setting: an environment variable that the server reads when it starts. A request beyond a limit is refused with a message that names it; nothing is held. A job that fails is not charged. Defaults are in parentheses; after the arrow is what happens beyond the limit. What a key or an account may spend is no setting but [theirs](give-a-team-keys.md).

Limits of keys, accounts and webhooks count for all processes of an installation together, unless they say otherwise; those of connections, addresses, downloads and memory for each process. A process that starts or ends may let one burst more through. A separate gateway counts what it refuses itself.

\`npm run docs\` makes this page from \`src/limits.ts\`.
`

const settingsHead = `# Settings

A setting is an environment variable that the server reads when it starts. Defaults are in parentheses; an empty variable counts as unset. A server with wrong values does not start, and names all of them. [Limits](limits.md) are settings too.

\`npm run docs\` makes this page from \`src/config.ts\` and \`src/trace-settings.ts\`.

`

const settingsTail = `
## An address for operators

While the server listens on loopback, its public ports also serve \`/metrics\`, AdminService with its console (\`/admin\`), and gRPC reflection. On any other address (\`MEDIAGEN_HOST\`), only \`MEDIAGEN_ADMIN_PORT\` (HTTP) and \`MEDIAGEN_ADMIN_GRPC_PORT\` (gRPC) serve them, at \`MEDIAGEN_ADMIN_HOST\`. Setting either port takes them from the public ports in any case: do so where a proxy on the same machine makes a loopback port public. [SECURITY.md](../SECURITY.md) has more advice for public servers.

## A gateway in front of a remote core

With \`MEDIAGEN_CORE_URL\` a process is a REST gateway: it stores no data and calls a core over gRPC. The core serves the files: set \`MEDIAGEN_PUBLIC_URL\` on the core to an address that leads to the core, or let the proxy pass \`/assets\` and \`/samples\` on to it. Name the gateway in \`MEDIAGEN_TRUSTED_PROXIES\` of the core, so that limits by address count its clients; the same goes for a reverse proxy in front of either.

## Workers without an API

With \`MEDIAGEN_ROLES=worker\` a process runs jobs and sends webhooks; it serves only \`/healthz\`, \`/readyz\` and \`/metrics\` (on the admin port, where there is one), and no gRPC. Set \`MEDIAGEN_PUBLIC_URL\` on the worker too, for the URLs in webhooks.

## Several processes on one data directory

Processes of any role may share a data directory on one machine, also from containers on one volume. The volume must be on a local disk, because network file systems do not keep the locks that SQLite needs.
`

const routesHead = `# Routes

Every request to \`/v1\` needs \`Authorization: Bearer <API_KEY>\`, with a key that has the permission in parentheses. The permissions are ${permissions.map(code).join(', ')}. [The contract](contract.md) describes records, headers and errors, \`GET /openapi.json\` every route in full.

\`npm run docs\` makes this page from the OpenAPI document.

`

const commandsHead = `# Commands

In the clone, \`export PATH="$PWD/bin:$PATH"\` makes \`mediagen\` a command of one terminal, and \`npm link\` of all. Where the machine's Node is older than 24, the one that \`npm ci\` installs runs it.

Commands for users call a server, \`MEDIAGEN_URL\`, with the key \`MEDIAGEN_KEY\`, or those that \`mediagen login\` kept.

Commands for operators, \`mediagen admin\`, work on the installation of this machine: they read the settings of the server, open its data directory, need no API key, and work while the server runs. Only \`serve\`, \`demo\` and \`migrate\` create a data directory or change its schema; the others refuse a missing or older database. With \`--url\` or \`MEDIAGEN_URL\` they work on the server at that address, which is that of its [admin port](settings.md#an-address-for-operators) where it has one, with a key that has the permission \`admin\`; \`--local\` means this machine all the same. What \`mediagen login\` kept never chooses the server of these. A command that changes something says on which installation. \`models check\` and \`models import\` work on this machine only.

Every command takes \`--json\`, for programs, and \`--help\`, which has an example of each command for operators; lists for them take \`--wide\`: all columns, whole, on a terminal, too. Defaults of options are in parentheses. The exit status is 0 on success and 1 on failure.

\`npm run docs\` makes this page from the command line's own help.
`

const promisesHead = `# Promises and their tests

Each promise of [the contract](../docs/contract.md) by its number, and the files whose first lines or titles of tests cite it. Each of them checks the promise, or a part of it.

\`npm run docs\` makes this page from the contract and the tests.

`

/** docs/limits.md. */
export function describeLimits(): string {
  const groups = Object.entries(limitGroups)
    .filter(([, group]) => Object.keys(group).length > 0)
    .map(([title, group]) => {
      const lines = Object.values(group).map(
        ({ env, fallback, help, beyond }) => `- ${code(env)} (${code(fallback)}): ${help} → ${beyond}\n`,
      )
      return `\n## ${title}\n\n${lines.join('')}`
    })
  return limitsHead + groups.join('')
}

/** docs/settings.md. */
export function describeSettings(): string {
  const lines = Object.values({ ...generalSettings, ...traceSettings }).map(
    ({ env, fallback, help }) => `- ${code(env)}${fallback && ` (${code(fallback)})`}: ${help}\n`,
  )
  return settingsHead + lines.join('') + settingsTail
}

interface DocumentedOperation {
  readonly summary: string
  readonly description: string
  readonly security?: readonly object[]
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly responses: Readonly<Record<string, { readonly description: string }>>
}

interface Openapi {
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
}

/** The OpenAPI document of a server that serves everything. */
export async function readOpenapi(): Promise<Openapi> {
  const app = Fastify()
  const parts: RouteDeps = {
    transport: createRouterTransport(() => {}),
    health: { unready: async () => null, metrics: async () => ({ contentType: 'text/plain', body: '' }) },
    assets: {
      blobs: { stat: async () => null, open: async () => null, sign: async () => null },
      urls: { msLeft: () => null },
      samples: { stat: async () => null, open: async () => null },
    },
    downloads: { inAll: 0, perOwner: 0 },
    publicUrl: () => 'https://media.example',
    labelHeaders: [],
    maxUploadBytes: 0,
    addDoors(doors, core, stopping) {
      addOpenaiRoutes(doors, {
        core,
        stopping,
        imageModel: null,
        editModel: null,
        speechModel: null,
        maxCredits: null,
        labelHeaders: [],
        cancelOnDisconnect: false,
        formBounds: { maxUploadBytes: 0, maxInputBytes: 0, maxBodyBytes: 0, maxValues: 0 },
        spend: async () => {},
        readOutput: async () => '',
        openOutput: async () => Readable.from([]),
        nowMs: () => 0,
        report: () => {},
      })
    },
  }
  addRoutes(app, parts, new AbortController().signal)
  return (await app.inject('/openapi.json')).json<Openapi>()
}

/** docs/routes.md. */
export async function describeRoutes(): Promise<string> {
  const { paths } = await readOpenapi()
  const lines = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
      const names = query.map(({ name }) => `${name}=`).join('&')
      const route = code(`${method.toUpperCase()} ${path}${names && `?${names}`}`)
      return `- ${route} (${describePermission(operation)}): ${describeOperation(operation)}\n`
    }),
  )
  return routesHead + lines.join('')
}

// The description ends with what the key needs.
const needs = / ?Needs (?:no key|a valid key .*|the permission `(\S+)`)\.$/

function describePermission({ security, description }: DocumentedOperation): string {
  if (security?.length === 0) return 'none'
  const [, permission] = needs.exec(description) ?? []
  return permission === undefined ? 'any key' : code(permission)
}

function describeOperation({ summary, description }: DocumentedOperation): string {
  return `${summary}. ${description.replace(needs, '')}`.trim()
}

/** docs/commands.md. */
export async function describeCommands(): Promise<string> {
  const described = new Map<string, string>()
  return (
    commandsHead +
    listVisible(await createProgram())
      .map((command) => describeCommand(command, '', '##', described))
      .join('')
  )
}

/** @param described the command at which each option is described already, by the line about it */
function describeCommand(command: Command, parents: string, heading: string, described: Map<string, string>): string {
  const inner = listVisible(command)
  const usage = command.usage().replace(/^\[options\] ?/, '')
  const path = `${parents}${command.name()}`
  const name = inner.length > 0 ? path : `${path} ${usage}`.trimEnd()
  // A group of `admin` does nothing itself; its commands say what it is for.
  const head =
    parents !== '' && inner.length > 0
      ? ''
      : `\n${heading} \`${name}\`\n\n${command.description()}.\n${describeOptions(command, path, described)}`
  return head + inner.map((one) => describeCommand(one, `${path} `, '###', described)).join('')
}

// Described once, at the head of the page.
const commonOptions = new Set(['--json', '--local', '--wide'])

function describeOptions(command: Command, path: string, described: Map<string, string>): string {
  const isAdmin = command.options.some(({ long }) => long === '--local')
  const options = command.options.filter(
    ({ long, hidden }) => !hidden && !commonOptions.has(long ?? '') && !(isAdmin && long === '--url'),
  )
  const byPlace = Map.groupBy(options, (option) => described.get(describeOption(option)) ?? path)
  const lines = [...byPlace].flatMap(([place, some]) =>
    place === path
      ? some.map(describeOption)
      : [`- as of ${code(place)}: ${some.map(({ long, flags }) => code(long ?? flags)).join(', ')}\n`],
  )
  for (const option of options) {
    const line = describeOption(option)
    if (!described.has(line)) described.set(line, path)
  }
  return lines.length === 0 ? '' : `\n${lines.join('')}`
}

function describeOption({ flags, mandatory, defaultValue, description, argChoices }: Option): string {
  const isEmpty = defaultValue === undefined || defaultValue === ''
  const fallback = mandatory ? ' (required)' : isEmpty ? '' : ` (${code(String(defaultValue))})`
  return `- ${code(flags)}${fallback}: ${[description, ...(argChoices ? [argChoices.join(', ')] : [])].join(': ')}\n`
}

/** test/promises.md. */
export function describePromises(): string {
  const citations = Map.groupBy(readCitations(), ({ number }) => number)
  const rows = readPromises()
    .toSorted((one, other) => one.number - other.number)
    .map(({ number }) => [`P${number}`, (citations.get(number) ?? []).map(describeCitation).join(', ')])
  return promisesHead + table(['Promise', 'Tests'], rows)
}

function describeCitation({ file, titles }: Citation): string {
  return titles > 1 ? `${code(file)} (${titles})` : code(file)
}

function code(text: string): string {
  return `\`${text}\``
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|')
  const lines = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |\n`)
  return lines.join('')
}

/** Each page that is made from the code, by its file in this folder. */
export const madePages: Readonly<Record<string, () => string | Promise<string>>> = {
  'limits.md': describeLimits,
  'settings.md': describeSettings,
  'routes.md': describeRoutes,
  'commands.md': describeCommands,
  '../test/promises.md': describePromises,
}

if (import.meta.main)
  for (const [file, describe] of Object.entries(madePages))
    writeFileSync(join(import.meta.dirname, file), await describe())
