// The actions of operators' commands: what they work with, and how their answers are printed.
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import type { Command } from 'commander'
import { pageBounds } from '../../../core/page.ts'
import { print, type Printed, say } from '../../user/print.ts'
import { type Installation, openInstallation, sayPlace } from './installation.ts'

/** What a command answers. */
export interface Answer {
  /** What --json prints. */
  readonly json: Printed | readonly Printed[]
  /** What it prints otherwise: lines, as they are; */
  readonly words?: string
  /** or a table of these rows, unless it is that of `json`, */
  readonly rows?: readonly Printed[]
  /** of which a terminal shows these columns. */
  readonly columns?: readonly string[]
}

type Run<Given extends readonly unknown[]> = (
  installation: Installation,
  ...given: Given
) => Promise<Answer | undefined>

/** The action of a command that changes nothing; `run` gets the arguments that commander gives to actions. */
export function looking<Given extends readonly unknown[]>(run: Run<Given>): (...given: Given) => Promise<void> {
  return async (...given) => {
    const command = given.at(-1) as Command
    await using installation = await openInstallation(command)
    printAnswer(await installation.explain(run(installation, ...given)), command)
  }
}

/** The action of a command that changes something: it says on which installation. */
export function changing<Given extends readonly unknown[]>(run: Run<Given>): (...given: Given) => Promise<void> {
  return looking((installation, ...given: Given) => {
    sayPlace(installation.place)
    return run(installation, ...given)
  })
}

function printAnswer(answer: Answer | undefined, command: Command): void {
  if (!answer) return
  const { json: asJson = false, wide = false } = command.opts<{ json?: boolean; wide?: boolean }>()
  const { json, words, rows, columns } = answer
  if (asJson) print(json, true)
  else if (words !== undefined) say(words)
  else print(rows ?? json, false, { ...(columns && { columns }), wide })
}

/** Adds the option of commands that print a table. */
export function addWideOption(command: Command): Command {
  return command.option('--wide', 'all columns, whole, on a terminal, too')
}

/** Reads all pages of a list; `name` is the field of a page that holds its items. */
export async function readAll<Name extends string, Page extends { total: number } & Record<Name, unknown[]>>(
  name: Name,
  list: (page: { limit: number; offset: number }) => Promise<Page>,
): Promise<Page[Name]> {
  const all = [] as unknown[] as Page[Name]
  while (true) {
    const page = await list({ limit: pageBounds.largestLimit, offset: all.length })
    all.push(...page[name])
    if (page[name].length === 0 || all.length >= page.total) return all
  }
}

/** A time as commands print it. */
export function toTime(time: Timestamp | undefined): string | null {
  return time ? new Date(timestampMs(time)).toISOString() : null
}
