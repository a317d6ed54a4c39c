// mediagen conformance: whether a server keeps what its interface promises, tried from outside.
import { createHttp } from '@mediagen/client/http.ts'
import type { Account, Input } from '@mediagen/client/records.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { StartupError } from '../../../core/errors.ts'
import { escapeHidden } from '../../../core/text/hidden-characters.ts'
import { parseCount } from '../counts.ts'
import { print, say } from '../print.ts'
import { explain, readUrl, type SourcedLogin } from '../server.ts'
import { countCredits } from '../words.ts'
import { createProbe, Violated } from './probe.ts'
import { chooseSubject } from './subject.ts'
import { type Result, runSuite } from './suite.ts'

const defaultCredits = 20
const needed = ['generate', 'models:read', 'jobs:read', 'wallet:read']

interface Options {
  readonly key: string
  readonly otherKey?: string
  readonly model?: string
  readonly input?: Input
  readonly maxCredits: number
  readonly json?: boolean
}

/** Adds the command. */
export function addConformanceCommand(program: Command): void {
  program
    .command('conformance <url>')
    .description('Try whether a server keeps the promises of its interface and its ledger; this spends credits')
    .requiredOption('--key <key>', 'API key, best of an account for this alone; it needs ' + needed.join(', '))
    .option('--other-key <key>', 'API key of another account, to try quotes across accounts')
    .option('--model <model>', 'what to start (default: the cheapest model with an example)')
    .option('--input <json>', 'its input, a JSON object (default: the example of the model)', parseInput)
    .option('--max-credits <credits>', 'the most that it may spend', parseCount, defaultCredits)
    .action((url: string, options: Options) => run(url, options).catch(explainEnd))
}

async function run(written: string, options: Options): Promise<void> {
  const { key, otherKey, maxCredits, model: named, input, json = false } = options
  const login = { url: readUrl(written, 'The argument'), key, source: '--key' }
  if (input && named === undefined) throw new StartupError('--input needs --model.')
  const account = await readAccount(login)
  const probe = createProbe(login)
  const subject = await chooseSubject(probe, { ...(named !== undefined && { model: named }), ...(input && { input }) })
  const { model, firstQuote: quote } = subject
  if (quote.credits > maxCredits)
    throw new StartupError(`${model} costs ${countCredits(quote.credits)}, and --max-credits is ${maxCredits}.`)
  const tell = (line: string): void => (json ? undefined : say(`${escapeHidden(line)}\n`))
  tell(`Spends at most ${countCredits(maxCredits)}, on ${model} for ${countCredits(quote.credits)} each.`)
  const onResult = ({ invariant, result, detail }: Result): void =>
    tell(`${result.padEnd('skipped'.length)}  ${invariant}${detail === null ? '' : `: ${detail}`}`)
  const outcome = await runSuite({ ...subject, login, probe, account, otherKey, maxCredits, onResult })
  const failed = outcome.results.filter(({ result }) => result === 'FAILED').length
  if (outcome.foreign > 0)
    say(
      `${outcome.foreign} ledger entries are of no job that was started here: other traffic of the account disturbs what was counted, or the server charged for a job that it did not name.\n`,
      process.stderr,
    )
  if (json) print({ url: login.url, model, max_credits: maxCredits, ...outcome }, true)
  tell(`${failed === 0 ? 'No check' : failed} failed; ${countCredits(outcome.spent)} spent.`)
  if (failed > 0) process.exitCode = 1
}

/** What ends the run before a check could. */
function explainEnd(error: unknown): never {
  throw error instanceof Violated ? new StartupError(`${escapeHidden(error.message)}.`, { cause: error }) : error
}

/** The id of the account. @throws StartupError if the key may not do what is needed */
async function readAccount(login: SourcedLogin): Promise<string | undefined> {
  const account = await explain(createHttp(login).json<Partial<Account>>('/v1/account'), login)
  const missing = account.key ? needed.filter((name) => !account.key?.permissions.includes(name as never)) : []
  if (missing.length > 0) throw new StartupError(`The key lacks the permissions ${missing.join(', ')}.`)
  return account.account_id
}

function parseInput(written: string): Input {
  try {
    const value: unknown = JSON.parse(written)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Input
  } catch {
    // Said below.
  }
  throw new InvalidArgumentError('It must be a JSON object, such as \'{"prompt": "a lighthouse"}\'.')
}
