// Names the fields of an input as they were written on the command line, in refusals.
import { type Problem, Refused } from '@mediagen/client/client.ts'
import { StartupError } from '@mediagen/core/errors.ts'
import type { InputOptions } from './input.ts'

type Violation = NonNullable<Problem['errors']>[number]

/** Turns the refusal of an input into a line for each wrong field; anything else is thrown as it is. */
export function explainInput(error: unknown, model: string, options: InputOptions): never {
  if (!(error instanceof Refused) || error.code !== 'invalid_input' || !error.problem.errors) throw error
  const lines = error.problem.errors.map((violation) => {
    const hint = violation.detail.endsWith('the id of an upload') ? '; @FILE uploads a file' : ''
    return `\n  ${nameField(violation, options)} ${violation.detail}${hint}`
  })
  const words = `The input does not fit ${model}:${lines.join('')}\n“mediagen models show ${model}” lists its fields.`
  throw new StartupError(words, { cause: error })
}

function nameField({ pointer }: Violation, { prompt, input, set }: InputOptions): string {
  const path = pointer
    .split('/')
    .slice(2)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.')
  if (set?.some((setting) => setting.startsWith(`${path}=`) || setting.startsWith(`${path}+=`))) return `--set ${path}=`
  if (path === 'prompt' && (prompt !== undefined || input === undefined)) return '--prompt'
  if (input === undefined) return path === '' ? 'It' : `--set ${path}=`
  return path === '' ? input : `${path} in ${input === '-' ? 'standard input' : input}`
}
