// Names the fields of an input as they were written on the command line, in refusals: what was given, and what it must be.
import { type Input, type Json, type Problem, Refused } from '@mediagen/client/client.ts'
import { StartupError } from '../../core/errors.ts'
import { escapeHidden } from '../../core/text/hidden-characters.ts'
import type { InputOptions } from './input.ts'

type Violation = NonNullable<Problem['errors']>[number]

const longestGiven = 40

/** Turns the refusal of an input into a line for each wrong field; anything else is thrown as it is. */
export function explainInput(error: unknown, model: string, input: Input, options: InputOptions): never {
  if (!(error instanceof Refused) || error.code !== 'invalid_input' || !error.problem.errors) throw error
  const lines = error.problem.errors.map(
    (violation) => `\n  ${escapeHidden(describeViolation(violation, input, options))}`,
  )
  const words = `The input does not fit ${model}:${lines.join('')}\n“mediagen models show ${model}” lists its fields.`
  throw new StartupError(words, { cause: error })
}

function describeViolation({ pointer, detail }: Violation, input: Input, options: InputOptions): string {
  const names = pointer
    .split('/')
    .slice(2)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
  const path = names.join('.')
  const rule = describeRule(detail)
  const given = JSON.stringify(names.reduce(readInner, input as Json | undefined))
  if (options.vary?.some((one) => one.startsWith(`${names[0]}=`))) return `--vary ${names[0]}=${cut(given)} ${rule}`
  const setting = options.set?.findLast((one) => one.startsWith(`${path}=`) || one.startsWith(`${path}+=`))
  if (setting !== undefined) return `--set ${cut(setting)} ${rule}`
  if (path === 'prompt' && (options.prompt !== undefined || options.input === undefined)) return `--prompt ${rule}`
  const was = path !== '' && given !== undefined && rule.startsWith('must') ? `, and is ${cut(given)}` : ''
  if (options.input === undefined) return `${path === '' ? 'It' : `--set ${path}=`} ${rule}${was}`
  const file = options.input === '-' ? 'standard input' : options.input
  return `${path === '' ? file : `${path} in ${file}`} ${rule}${was}`
}

function describeRule(detail: string): string {
  return detail.endsWith('the id of an upload') ? `${detail}; @FILE uploads a file` : detail
}

function readInner(value: Json | undefined, name: string): Json | undefined {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as { [name: string]: Json })[name]
    : undefined
}

function cut(text: string): string {
  return text.length <= longestGiven ? text : `${text.slice(0, longestGiven)}…`
}
