// Brings what a provider made into the folder of the run.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { whenDescriptors } from '@mediagen/engine/descriptors.ts'
import { EngineError, type EngineRun } from '@mediagen/engine/engine.ts'
import type { Output } from './backend.ts'
import type { Connection } from './connection.ts'

const mostOutputs = 100

/**
 * Writes bytes that nobody else has: they are not thrown away for lack of a file descriptor.
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
 * Stores outputs, and returns their names in display order. What cannot be had is left out, unless nothing else came.
 * @param isLast whether what may pass is no longer waited for
 * @throws EngineError `provider_no_output` if there are none or too many, and whatever a download throws
 */
export async function fetchOutputs(
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
