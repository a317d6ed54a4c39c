// Fetches the outputs of a provider into the folder of the run.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { whenDescriptors } from '@mediagen/engine/descriptors.ts'
import { EngineError, type EngineResult, type EngineRun, Undelivered } from '@mediagen/engine/engine.ts'
import type { Candidate, Output, UpstreamResult } from '../backend.ts'
import type { Connection } from '../connection.ts'
import { withoutInput } from './outputs.ts'

const mostOutputs = 100
// Beyond this number, outputs are not compared with the input: each would be searched for in all of it.
const mostListed = 2 * mostOutputs

/**
 * Writes bytes that exist nowhere else. Waits if no file descriptor is free, so that they are not lost.
 * @throws EngineError `output_not_stored`, which may pass, if the disk takes no more now
 */
async function keep(data: Uint8Array, file: string, run: Pick<EngineRun, 'folder' | 'signal'>): Promise<void> {
  try {
    await whenDescriptors(async () => writeFile(join(await run.folder(), file), data), run.signal)
  } catch (error) {
    run.signal.throwIfAborted()
    if (!(error instanceof Error && 'syscall' in error)) throw error
    const words = 'The outputs could not be written on this server. Nothing was charged.'
    throw new EngineError('output_not_stored', words, true, { cause: error })
  }
}

/**
 * Fetches the outputs. Null after a passing failure, if another attempt follows.
 * @param isLast whether a passing failure is final, because no time is left
 * @throws Undelivered if no output of a paid run can be had, EngineError if no output of a free run can be had
 */
export async function fetchResult(
  { connection, backend, spec }: Candidate,
  { outputs, usage }: Pick<UpstreamResult, 'outputs' | 'usage'>,
  run: EngineRun,
  isLast: boolean,
): Promise<EngineResult | null> {
  try {
    const made = outputs.length > mostListed ? outputs : withoutInput(outputs, run.input)
    return {
      files: await fetchOutputs(connection, made, run, isLast),
      usage,
      isPaid: !backend.free,
      made: made.length,
      ...(typeof spec['model'] === 'string' && { upstreamModel: spec['model'] }),
    }
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    if (error.retryable && !isLast) return null
    if (backend.free) throw error
    throw new Undelivered(error.message.replace('Nothing was charged.', '').trim(), { cause: error })
  }
}

/**
 * Stores outputs, and returns their names in display order. Outputs that cannot be had are left out, unless all of them fail.
 * @throws EngineError `provider_no_output` if there are none or too many, and whatever a download throws
 */
async function fetchOutputs(
  connection: Connection,
  outputs: readonly Output[],
  run: Pick<EngineRun, 'folder' | 'download' | 'signal'>,
  isLast: boolean,
): Promise<string[]> {
  if (outputs.length === 0 || outputs.length > mostOutputs)
    throw new EngineError(
      'provider_no_output',
      `${connection.provider} reports success with ${outputs.length} files. Nothing was charged.`,
    )
  const files: string[] = []
  const failures: EngineError[] = []
  for (const [index, output] of outputs.entries()) {
    const file = `output-${index}`
    try {
      await bring(connection, output, file, run)
      files.push(file)
    } catch (error) {
      run.signal.throwIfAborted()
      if (!(error instanceof EngineError) || (error.retryable && !isLast)) throw error
      failures.push(error)
    }
  }
  const [failure] = failures
  if (failure && files.length === 0) throw failure
  connection.warn(failures.map(({ message }) => `left out of the outputs of a run: ${message}`))
  return files
}

async function bring(
  connection: Connection,
  output: Output,
  file: string,
  run: Pick<EngineRun, 'folder' | 'download' | 'signal'>,
): Promise<void> {
  if ('data' in output) return keep(output.data, file, run)
  const { origin, credentials: headers } = connection
  await run.download(connection.toUrl(output.url), file, { origin, headers })
}
