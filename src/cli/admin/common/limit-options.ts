// The options of commands that say what a key or an account may spend.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { type Command, InvalidArgumentError } from 'commander'
import { type Limits, LimitsSchema } from '../../../../gen/mediagen/v1/limits_pb.ts'
import { findBuiltin } from '../../../app/builtin.ts'
import { readConfig } from '../../../config.ts'
import { limitFields, matchesModel } from '../../../core/accounts/limits.ts'
import { StartupError } from '../../../core/errors.ts'
import { escapeHidden } from '../../../core/text/hidden-characters.ts'

/** A limit that is removed. */
type Removed = 'none'

export interface LimitOptions {
  readonly perStart?: bigint | Removed
  readonly daily?: bigint | Removed
  readonly weekly?: bigint | Removed
  readonly monthly?: bigint | Removed
  readonly total?: bigint | Removed
  readonly models?: readonly string[] | Removed
  readonly origins?: readonly string[] | Removed
  readonly extra?: bigint | Removed
  readonly until?: number
}

/** Adds the options to a command. */
export function addLimitOptions(command: Command): Command {
  return command
    .option('--per-start <credits>', 'what one start may cost', parseLimit)
    .option('--daily <credits>', 'what may be spent in a day (MEDIAGEN_TIME_ZONE)', parseLimit)
    .option('--weekly <credits>', 'what may be spent in a week, from Monday', parseLimit)
    .option('--monthly <credits>', 'what may be spent in a month', parseLimit)
    .option('--total <credits>', 'what may be spent in all', parseLimit)
    .option('--models <list>', "models that may be started, such as 'acme/*,fal/flux'", parseList)
    .option('--origins <list>', 'websites whose scripts may use the key, such as https://app.example', parseList)
    .option('--extra <credits>', 'more credits for each of these windows, with --until', parseLimit)
    .option('--until <time>', 'when the extra credits end, such as 2026-12-31 or 2026-12-31T18:00:00Z', parseInstant)
}

/** The limits that options set, and the names of all that they change. */
export function readLimitOptions(options: LimitOptions): { limits: Limits; updateMask: { paths: string[] } } {
  const { extra, until } = options
  if ((typeof extra === 'bigint') !== (until !== undefined))
    throw new StartupError('--extra and --until belong together: how many credits, and until when.')
  const given = Object.entries(limitFields).filter(([, field]) => options[field] !== undefined)
  const set = Object.fromEntries(
    given.flatMap(([, field]) => (field === 'extra' || options[field] === 'none' ? [] : [[field, options[field]]])),
  )
  const limits = create(LimitsSchema, {
    ...set,
    ...(typeof extra === 'bigint' &&
      until !== undefined && { extra: { credits: extra, until: timestampFromMs(until) } }),
  })
  return { limits, updateMask: { paths: given.map(([name]) => name) } }
}

/** The limits that options change. @throws StartupError when they change none */
export function readLimitChange(options: LimitOptions): ReturnType<typeof readLimitOptions> {
  const change = readLimitOptions(options)
  if (change.updateMask.paths.length === 0)
    throw new StartupError('Name a limit to change, such as --daily 100, or --daily none to remove it.')
  return change
}

/**
 * Says which patterns match no model of the catalog. They are kept: a catalog changes.
 * @param answered those that a server named; on this machine its catalog is read
 */
export async function warnOfUnmatched(
  isHere: boolean,
  patterns: readonly string[],
  answered: readonly string[],
): Promise<void> {
  const unmatched = isHere && patterns.length > 0 ? await findUnmatched(patterns) : answered
  if (unmatched.length > 0)
    process.stderr.write(
      `No model of the catalog matches ${unmatched.map(escapeHidden).join(', ')}. It is kept all the same.\n`,
    )
}

async function findUnmatched(patterns: readonly string[]): Promise<readonly string[]> {
  const { openIdleEngines, readModels } = await import('../../../app/models.ts')
  const config = readConfig(process.env)
  const builtin = await findBuiltin()
  await using idle = await openIdleEngines(builtin, config)
  const models = readModels([...(builtin?.catalog ?? []), ...config.catalog], idle.engines)
  return patterns.filter((pattern) => !models.some(({ id }) => matchesModel(pattern, id)))
}

/** Credits of an option. */
export function parseCredits(written: string): bigint {
  if (!/^\d+$/.test(written)) throw new InvalidArgumentError('It must be a whole number of credits, 0 or more.')
  return BigInt(written)
}

function parseLimit(written: string): bigint | Removed {
  return written === 'none' ? written : parseCredits(written)
}

function parseList(written: string): readonly string[] | Removed {
  return written === 'none' ? written : written.split(',').map((each) => each.trim())
}

function parseInstant(written: string): number {
  const ms = Date.parse(written)
  if (Number.isNaN(ms)) throw new InvalidArgumentError('It must be a time such as 2026-12-31 or 2026-12-31T18:00:00Z.')
  return ms
}
