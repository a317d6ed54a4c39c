// `status` and `doctor`: how an installation is, and what is wrong with it.
import type { Command } from 'commander'
import type { Finding } from '../../app/operator/health/finding.ts'
import type { Status } from '../../app/operator/health/status.ts'
import { readConfig } from '../../config.ts'
import { toTimestampText } from '../../core/clock.ts'
import { toAge } from '../../core/text/age.ts'
import { escapeHidden } from '../../core/text/hidden-characters.ts'
import { print, say } from '../user/print.ts'
import { readVersion } from './backup.ts'

const columns = 80
// A screen has more to show.
const mostModels = 5

/** Adds the commands. */
export function addStatusCommands(program: Command): void {
  program
    .command('status')
    .description('Show on one screen what runs, what waits, what is wrong, and the command for each')
    .action(async (_options: object, command: Command) => {
      const { readStatus } = await import('../../app/operator/health/status.ts')
      const status = await readStatus(readConfig(process.env), readVersion(command))
      if (command.opts()['json']) print(toRecord(status), true)
      else say(toScreen(status))
    })
  program
    .command('doctor')
    .description(
      'Check settings, disk, flushing, database, ledger, files, clock and programs; a line for each finding, with the command that mends it; exit status 1 if there is any',
    )
    .option(
      '--files',
      'look at every file and its content, instead of a sample of sizes, and for files without a record',
    )
    .option('--network', 'ask all providers, too; nothing is charged')
    .action(async ({ files = false, network = false, json }: DoctorFlags) => {
      const { examine } = await import('../../app/operator/health/doctor.ts')
      const findings = await examine(process.env, { files, network })
      if (findings.length > 0) process.exitCode = 1
      if (json)
        return print(
          findings.map((finding) => ({ ...finding })),
          true,
        )
      const lines = findings.map(({ check, problem, command }) => `${check}: ${escapeHidden(problem)} → ${command}\n`)
      say(lines.join('') || 'Nothing is wrong.\n')
    })
}

interface DoctorFlags {
  readonly files?: boolean
  readonly network?: boolean
  readonly json?: boolean
}

function toRecord({ processes, backlog, findings, nowMs, ...status }: Status) {
  const { version, database, servedElsewhere, addresses, freeBytes } = status
  return {
    version,
    database,
    processes: processes.map(({ name, startedAtMs }) => ({
      name,
      started_at: toTimestampText(startedAtMs),
      uptime_seconds: Math.floor((nowMs - startedAtMs) / 1000),
    })),
    served_elsewhere: servedElsewhere,
    addresses,
    queued:
      backlog?.models.flatMap(({ model, queued, oldestMs }) =>
        queued === 0 ? [] : [{ model, jobs: queued, oldest_seconds: Math.floor(oldestMs / 1000) }],
      ) ?? null,
    running: backlog ? sumOf(backlog, 'running') : null,
    delayed: backlog ? sumOf(backlog, 'delayed') : null,
    reviews: backlog?.reviews ?? null,
    deliveries: backlog?.deliveries ?? null,
    free_bytes: freeBytes,
    findings,
  }
}

function toScreen({
  version,
  database,
  nowMs,
  processes,
  servedElsewhere,
  addresses,
  backlog,
  ...rest
}: Status): string {
  const { freeBytes, findings } = rest
  const room = freeBytes === null ? '' : `, ${(freeBytes / 1024 ** 3).toFixed(1)} GiB free`
  const lines = [
    ['mediagen', version],
    ['database', `${database}${room}`],
    ...label('runs', [
      ...processes.map(({ name, startedAtMs }) => `${name}, for ${toAge(nowMs - startedAtMs)}`),
      ...addresses.map(({ url, state }) => `${url} ${state}`),
      ...(servedElsewhere ? ['servers elsewhere'] : []),
    ]),
    ...(backlog ? label('waits', toQueue(backlog)) : []),
  ]
  const shown = lines.map(([name = '', value = '']) => cut(`${name.padEnd(10)}${escapeHidden(value)}`))
  return `${[...shown, ...toWrong(findings)].join('\n')}\n`
}

type Backlog = NonNullable<Status['backlog']>

function sumOf({ models }: Backlog, name: 'queued' | 'delayed' | 'running'): number {
  return models.reduce((sum, model) => sum + model[name], 0)
}

function toQueue(backlog: Backlog): string[] {
  const [queued, delayed, running] = (['queued', 'delayed', 'running'] as const).map((name) => sumOf(backlog, name))
  const longest = backlog.models
    .filter((model) => model.queued > 0)
    .toSorted((one, other) => other.oldestMs - one.oldestMs)
  return [
    `${queued} queued, ${delayed} delayed, ${running} running; ${backlog.deliveries} webhooks`,
    ...longest
      .slice(0, mostModels)
      .map((queue) => `${queue.queued} of ${queue.model}, the oldest for ${toAge(queue.oldestMs)}`),
    ...(longest.length > mostModels ? [`${longest.length - mostModels} more models (--json)`] : []),
  ]
}

/** What is wrong, each with its command below it. */
function toWrong(findings: readonly Finding[]): string[] {
  if (findings.length === 0) return ['wrong     nothing that shows here; mediagen doctor looks closer']
  return findings.flatMap(({ problem, command }, index) => [
    cut(`${(index === 0 ? 'wrong' : '').padEnd(10)}${escapeHidden(problem)}`),
    // Whole, to be copied.
    `${' '.repeat(10)}→ ${command}`,
  ])
}

const label = (name: string, values: readonly string[]): string[][] =>
  values.length === 0 ? [[name, '-']] : values.map((value, index) => [index === 0 ? name : '', value])

function cut(line: string): string {
  return line.length <= columns ? line : `${line.slice(0, columns - 1)}…`
}
