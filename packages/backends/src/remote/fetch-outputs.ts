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
 * Stores outputs, and returns their names in display order.
 * @throws EngineError `provider_no_output` if there are none or too many, and whatever a download throws
 */
export async function fetchOutputs(
  connection: Connection,
  outputs: readonly Output[],
  run: Pick<EngineRun, 'folder' | 'download' | 'signal'>,
): Promise<string[]> {
  if (outputs.length === 0 || outputs.length > mostOutputs)
    throw new EngineError(
      'provider_no_output',
      `${connection.provider} reports success with ${outputs.length} files. Nothing was charged.`,
    )
  const files: string[] = []
  for (const [index, output] of outputs.entries()) {
    const file = `output-${index}`
    if ('data' in output) await keep(output.data, file, run)
    else
      await run.download(connection.toUrl(output.url), file, {
        origin: connection.origin,
        headers: connection.credentials,
      })
    files.push(file)
  }
  return files
}
