// Which server the commands of users talk to, and as whom: MEDIAGEN_URL and MEDIAGEN_KEY, or what `mediagen login` kept.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  createClient,
  JobFailed,
  type MediagenClient,
  Refused,
  TooExpensive,
  Unreachable,
} from '@mediagen/client/client.ts'
import type { Command } from 'commander'
import { StartupError } from '../../core/errors.ts'
import { escapeHidden } from '../../core/text/hidden-characters.ts'
import { print, type Printed } from './print.ts'
import { describeFileError } from './words.ts'

/** Where the server is, and the key. */
export interface Login {
  readonly url: string
  readonly key: string
}

/** A login that says, for refusals, where its key came from. */
export interface SourcedLogin extends Login {
  readonly source: string
}

/** Where the server of the embedded defaults is. */
export const usualUrl = 'http://127.0.0.1:8080'

/** The file that keeps the login, as the XDG Base Directory Specification has it. */
export function loginFile(): string {
  return join(process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'mediagen/login.json')
}

/** Keeps a login in a file that only its owner can read. */
export function keepLogin({ url, key }: Login): void {
  const login: Login = { url, key }
  const file = loginFile()
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 })
}

/** What `mediagen login` kept. */
export function readLogin(): Partial<Login> {
  try {
    return JSON.parse(readFileSync(loginFile(), 'utf8')) as Partial<Login>
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new StartupError(`${loginFile()} cannot be read: ${describeFileError(error)}. Run mediagen login again.`)
  }
}

/** The address of a server, without a slash at its end. @throws StartupError that names where it came from */
export function readUrl(written: string, source: string): string {
  if (/^https?:\/\/[^/]/.test(written) && URL.canParse(written)) return written.replace(/\/+$/, '')
  throw new StartupError(`${source} must be the address of a server, such as ${usualUrl}, and is “${written}”.`)
}

/** The address of the server, and where it comes from. @throws StartupError if it is none */
export function findUrl(given?: string): { readonly url: string; readonly source: string } {
  if (given !== undefined) return { url: readUrl(given, '--url'), source: '--url' }
  const { MEDIAGEN_URL } = process.env
  if (MEDIAGEN_URL) return { url: readUrl(MEDIAGEN_URL, 'MEDIAGEN_URL'), source: 'MEDIAGEN_URL' }
  const { url } = readLogin()
  return url === undefined
    ? { url: usualUrl, source: 'the default' }
    : { url: readUrl(url, loginFile()), source: loginFile() }
}

/** Which login is looked for. */
interface Wanted {
  /** The value of --url, which comes before MEDIAGEN_URL and what was kept. */
  readonly url?: string | undefined
  /** How one comes by a key. */
  readonly adviceOnKey: string
}

/**
 * The server and the key that the options, the environment or `mediagen login` name.
 * @throws StartupError where there is no key for the server
 */
export function findLogin({ url: given, adviceOnKey }: Wanted): SourcedLogin {
  const kept = readLogin()
  const { MEDIAGEN_KEY: key } = process.env
  const { url } = findUrl(given)
  if (key) return { url, key, source: 'MEDIAGEN_KEY' }
  // A kept key is for the server that it was kept for.
  if (kept.key && url === kept.url) return { url, key: kept.key, source: `mediagen login (${loginFile()})` }
  throw new StartupError(`There is no API key for ${url}. ${adviceOnKey}`)
}

const whereKeysAre = '“npm start” prints a key, and “mediagen admin keys create” makes one.'
const adviceOnKey = `Run mediagen login, or set MEDIAGEN_KEY. ${whereKeysAre}`

/** What an action of a user's command may use besides its arguments. */
export interface UserContext {
  readonly client: MediagenClient
  readonly login: SourcedLogin
}

/**
 * The action of a command that is a client of a server: prints what `run` returns. What the server refuses is one sentence
 * on standard error, with a line for each wrong field.
 */
export function withServer<Given extends readonly unknown[]>(
  run: (user: UserContext, ...given: Given) => Promise<Printed | readonly Printed[] | undefined>,
): (...given: Given) => Promise<void> {
  return async (...given) => {
    // What users write is theirs, and not a server's secret.
    process.umask(0o022)
    const login = findLogin({ adviceOnKey })
    const answer = await explain(run({ client: createClient(login), login }, ...given), login)
    const command = given.at(-1) as Command
    if (answer) print(answer, command.opts()['json'])
  }
}

/** Turns what a client throws into a sentence for people. */
export async function explain<Answer>(answer: Promise<Answer>, login: SourcedLogin): Promise<Answer> {
  try {
    return await answer
  } catch (error) {
    const words = describe(error, login)
    throw words === null ? error : new StartupError(words, { cause: error })
  }
}

const keyCodes = new Set(['invalid_api_key', 'authentication_required', 'missing_permission'])

function describe(error: unknown, { key, source }: SourcedLogin): string | null {
  if (error instanceof TooExpensive || error instanceof JobFailed) return escapeHidden(error.message)
  if (error instanceof Unreachable)
    return `${escapeHidden(error.message)} Is the server running? “npm start” or “mediagen serve” starts one; MEDIAGEN_URL or “mediagen login” names another address.`
  if (!(error instanceof Refused)) return null
  const words = describeRefusal(error)
  return keyCodes.has(error.code)
    ? `${words} The key begins with ${key.slice(0, 8)} and comes from ${source}. ${whereKeysAre}`
    : words
}

/**
 * The detail, and a line for each wrong place; the detail repeats the first of them, which is left out. At a terminal a query
 * parameter is an option.
 */
function describeRefusal({ problem: { detail, errors = [] } }: Refused): string {
  const [first] = errors
  const place = first?.pointer.replace(/^\?/, 'The query parameter ')
  const head = first ? (detail.split(`${place} ${first.detail}`)[0] ?? '').trim() : detail
  const lines = errors.map(({ pointer, detail: wrong }) => `${pointer.replace(/^\?(group_)?/, '--')} ${wrong}`)
  if (head === '' && lines.length === 1) return `${escapeHidden(lines[0] ?? '')}.`
  // At a terminal the list is a command.
  return [head || 'The request is wrong:', ...lines]
    .map(escapeHidden)
    .join('\n  ')
    .replace('GET /v1/models lists', '“mediagen models” lists')
}
