// Brings what a provider made into the folder of the run.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { whenDescriptors } from '@mediagen/engine/descriptors.ts'
import { EngineError, type EngineRun, type JsonValue } from '@mediagen/engine/engine.ts'
import type { Output } from './backend.ts'
import type { Connection } from './connection.ts'
import { isDataUri, readDataUri } from './outputs.ts'

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
 * Stores outputs, and returns their names in display order. Of several files that a paid run made, those that can be had are
 * delivered.
 * @param terms whether the provider bills the run, and whether no other attempt follows
 * @throws EngineError `provider_no_output` if there are none or too many, and whatever a download throws when no file can be had, or
 *   when another attempt may have it
 */
export async function fetchOutputs(
  connection: Connection,
  outputs: readonly Output[],
  run: Pick<EngineRun, 'folder' | 'download' | 'signal' | 'input'>,
  { isPaid, isLast }: { readonly isPaid: boolean; readonly isLast: boolean },
): Promise<string[]> {
  const sent = findTexts(run.input)
  const made = outputs.filter((output) => 'data' in output || !sent.has(output.url))
  if (made.length === 0 || made.length > mostOutputs)
    throw new EngineError(
      'provider_no_output',
      `${connection.provider} reports success with ${made.length} files. Nothing was charged.`,
    )
  const files: string[] = []
  let failure: unknown = null
  for (const [index, output] of made.entries()) {
    const file = `output-${index}`
    try {
      await bring(output, file)
      files.push(file)
    } catch (error) {
      if (!isPaid || !(error instanceof EngineError) || (error.retryable && !isLast)) throw error
      failure ??= error
      connection.warn([`a file of several could not be had: ${error.message}`])
    }
  }
  if (files.length === 0) throw failure
  return files

  async function bring(output: Output, file: string): Promise<void> {
    if ('data' in output) return keep(output.data, file, run)
    if (isDataUri(output.url)) return keep(readDataUri(output.url), file, run)
    await run.download(connection.toUrl(output.url), file, {
      origin: connection.origin,
      headers: connection.credentials,
    })
  }
}

/** All texts of an input: a provider that repeats one has not made it. */
function findTexts(value: JsonValue, texts: Set<string> = new Set()): ReadonlySet<string> {
  if (typeof value === 'string') texts.add(value)
  else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) findTexts(one, texts)
  return texts
}
