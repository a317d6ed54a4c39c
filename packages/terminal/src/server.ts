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
import { StartupError } from '@mediagen/core/errors.ts'
import { print, type Printed } from './print.ts'

/** Where the server is, and the key. */
export interface Login {
  readonly url: string
  readonly key: string
}

/** Where the server of the embedded defaults is. */
export const usualUrl = 'http://127.0.0.1:8080'

/** The file that keeps the login, as the XDG Base Directory Specification has it. */
export function loginFile(): string {
  return join(process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'mediagen/login.json')
}

/** Keeps a login in a file that only its owner can read. */
export function keepLogin(login: Login): void {
  const file = loginFile()
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 })
}

function readLogin(): Partial<Login> {
  try {
    return JSON.parse(readFileSync(loginFile(), 'utf8')) as Partial<Login>
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new StartupError(`${loginFile()} cannot be read: ${(error as Error).message}. Run mediagen login again.`)
  }
}

function findLogin(): Login {
  const kept = readLogin()
  const { MEDIAGEN_URL: url = '', MEDIAGEN_KEY: key = '' } = process.env
  // A kept key is for the server that it was kept for.
  const own = url === '' || url === kept.url
  const login = { url: url || kept.url || usualUrl, key: key || (own ? (kept.key ?? '') : '') }
  if (login.key !== '') return login
  throw new StartupError(`There is no API key for ${login.url}. Run mediagen login, or set MEDIAGEN_KEY.`)
}

/** What an action of a user's command may use besides its arguments. */
export interface UserContext {
  readonly client: MediagenClient
  readonly login: Login
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
    const login = findLogin()
    const answer = await explain(run({ client: createClient(login), login }, ...given))
    const command = given.at(-1) as Command
    if (answer) print(answer, command.opts()['json'])
  }
}

/** Turns what a client throws into a sentence for people. */
export async function explain<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Refused) throw new StartupError(describeRefusal(error), { cause: error })
    if (error instanceof JobFailed) throw new StartupError(describeFailure(error), { cause: error })
    if (error instanceof TooExpensive || error instanceof Unreachable)
      throw new StartupError(error.message, { cause: error })
    throw error
  }
}

function describeRefusal({ problem }: Refused): string {
  const wrong = (problem.errors ?? []).map(({ pointer, detail }) => `\n  ${pointer} ${detail}`)
  return `${problem.detail}${wrong.join('')}`
}

function describeFailure({ job, message }: JobFailed): string {
  const { charged } = job.billing
  return `${message} (${job.job_id} ${job.status}, ${charged === 0 ? 'nothing was charged' : `${charged} credits were charged`})`
}
