// Commands about the servers that make media for this one.
import { type Command, InvalidArgumentError } from 'commander'
import type { ProviderReport } from '../../app/operator/check-providers.ts'
import { readConfig } from '../../config.ts'
import { print } from '../user/print.ts'
import { withExample } from './common/examples.ts'
import { type Admin, openChosenServer } from './common/installation.ts'
import { addTryCommand } from './try-providers.ts'

const longestSeconds = 60

/** Adds the commands. */
export function addProviderCommands(parent: Command): void {
  const providers = parent.command('providers').description('Services that make media for this server')
  withExample(providers.command('check'), '--timeout 5')
    .description(
      'Check whether every provider of the catalog answers and accepts its key, and what models wait for; nothing is charged; exit status 1 if anything does not work',
    )
    .option('--timeout <seconds>', `how long to wait for each, up to ${longestSeconds}`, readSeconds, 10)
    .action(async ({ timeout, json }: { timeout: number; json?: boolean }, command: Command) => {
      const { checkProviders, isBroken } = await import('../../app/operator/check-providers.ts')
      const server = await openChosenServer(command)
      const reports = server
        ? await server.explain(checkThere(server.admin, timeout))
        : await checkProviders(readConfig(process.env), timeout * 1000)
      if (json)
        print(
          reports.map((report) => ({ ...report })),
          true,
        )
      else printTables(reports)
      const isWell = reports.every((one) => !isBroken(one) && one.models.every((model) => model.waits_for === null))
      if (!isWell) process.exitCode = 1
    })
  addTryCommand(providers)
}

/** As the server there asks them. */
async function checkThere(admin: Admin, timeoutSeconds: number): Promise<ProviderReport[]> {
  const { providers } = await admin.checkProviders({ timeoutSeconds })
  return providers.map(({ provider: name, kind, answers = null, key, reason = null, models }) => ({
    name,
    kind,
    answers,
    key: key as ProviderReport['key'],
    reason,
    models: models.map(({ model: id, waitsFor = null }) => ({ id, waits_for: waitsFor })),
  }))
}

function readSeconds(text: string): number {
  const seconds = Number(text)
  if (!(seconds > 0 && seconds <= longestSeconds))
    throw new InvalidArgumentError(`It must be a number of seconds, more than 0 and at most ${longestSeconds}.`)
  return seconds
}

function printTables(reports: readonly ProviderReport[]): void {
  print(
    reports.map(({ name, kind, answers, key, models, reason }) => ({
      provider: name,
      kind,
      answers: answers === null ? 'not asked' : answers ? 'yes' : 'no',
      key,
      models_ready: `${models.filter((model) => model.waits_for === null).length} of ${models.length}`,
      problem: reason,
    })),
  )
  const waiting = reports.flatMap(({ name, models }) =>
    models.flatMap(({ id, waits_for: reason }) =>
      reason === null ? [] : [{ model: id, provider: name, waits_for: reason }],
    ),
  )
  if (waiting.length === 0) return
  process.stdout.write('\n')
  print(waiting)
}
