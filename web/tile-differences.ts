// What tells jobs with the same words apart: the settings in which they differ.
import { toTitle } from './form-model.ts'
import type { Json, JobRecord } from './records.ts'
import { describeInput } from './session.ts'

const mostShown = 2
const longestValue = 24

/**
 * For each job whose words and model others of these have, too: its own values of the settings in which they differ.
 * @returns for example `Theme dusk · Seed 7`, by job id
 */
export function describeDifferences(jobs: readonly JobRecord[]): ReadonlyMap<string, string> {
  const groups = Map.groupBy(jobs, (job) => JSON.stringify([job.model, describeInput(job)]))
  const found = new Map<string, string>()
  for (const group of groups.values()) {
    const names = group.length > 1 ? findDifferent(group) : []
    if (names.length === 0) continue
    for (const { job_id, input } of group)
      found.set(job_id, names.flatMap((name) => toWords(name, input?.[name])).join(' · ') || 'With defaults')
  }
  return found
}

/** Settings that some of these jobs have otherwise, if they can be said in a word. */
function findDifferent(jobs: readonly JobRecord[]): string[] {
  const names = new Set(jobs.flatMap(({ input }) => Object.keys(input ?? {})))
  return [...names]
    .filter((name) => {
      const values = jobs.map(({ input }) => input?.[name])
      return values.every(isShort) && new Set(values).size > 1
    })
    .slice(0, mostShown)
}

function isShort(value: Json | undefined): boolean {
  return value === undefined || (typeof value !== 'object' && String(value).length <= longestValue)
}

/** What a job leaves to the model has no value to say. */
function toWords(name: string, value: Json | undefined): string[] {
  if (value === undefined) return []
  const words = typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value)
  return [`${toTitle(name)} ${words}`]
}
