// The outputs of a job as files.
import { once } from 'node:events'
import { constants } from 'node:fs'
import { access, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Job, MediagenClient } from '@mediagen/client/client.ts'
import { nameOutput } from '@mediagen/client/output-name.ts'
import { StartupError } from '../../core/errors.ts'
import { countCredits, describeFileError } from './words.ts'

/**
 * Sees to it that outputs can be written, before anything is paid for them.
 * @param to as `writeOutputs` has it
 * @throws StartupError that names the file or folder
 */
export async function checkOutput(to: string | undefined): Promise<void> {
  if (to === '-') return
  const known = to === undefined ? null : await stat(to).catch(() => null)
  if (known?.isDirectory()) throw new StartupError(`${to} is a folder: give -o the name of a file in it.`)
  const place = known ? (to as string) : dirname(to ?? 'output')
  await access(place, constants.W_OK).catch((error: unknown) => {
    const words = `The output cannot be written to ${place}: ${describeFileError(error)}.`
    throw new StartupError(words, { cause: error })
  })
}

/**
 * Downloads the outputs of a job; returns the paths of the files.
 * @param to path of the first file (the next ones get a number), `-` for standard output; default: names in this folder
 * @throws StartupError for several outputs to standard output, where nobody could tell where one ends, and for a file that cannot be written
 */
export async function writeOutputs(
  client: Pick<MediagenClient, 'download'>,
  job: Job,
  to: string | undefined,
): Promise<string[]> {
  const { length: count } = job.outputs
  if (to === '-' && count > 1) {
    const words = `${job.job_id} has ${count} outputs, and standard output takes only one.`
    const kept = `The job has succeeded for ${countCredits(job.billing.charged)}, and nothing is lost: “mediagen watch ${job.job_id}” writes each output to a file.`
    throw new StartupError(`${words} ${kept}`)
  }
  const paths: string[] = []
  for (const [index, output] of job.outputs.entries()) {
    const content = await readOutput(client, job, output)
    if (to === '-') {
      process.stdout.write(content)
      continue
    }
    const path = nameOutput(job, index, to)
    await writeFile(path, content).catch((error: unknown) => {
      const words = `${path} cannot be written: ${describeFileError(error)}. mediagen watch ${job.job_id} -o FILE downloads it again.`
      throw new StartupError(words, { cause: error })
    })
    paths.push(path)
  }
  return paths
}

async function readOutput(
  client: Pick<MediagenClient, 'download'>,
  { job_id: jobId, billing }: Job,
  output: Job['outputs'][number],
): Promise<Buffer> {
  try {
    return Buffer.from(await (await client.download(output)).arrayBuffer())
  } catch (error) {
    const { message } = error as Error
    const words = `The job has succeeded for ${countCredits(billing.charged)}; “mediagen watch ${jobId}” downloads it again.`
    throw new StartupError(`${/[.!?]$/.test(message) ? message : `${message}.`} ${words}`, { cause: error })
  }
}

/**
 * Downloads the archive of a job; returns its path, null for standard output. A file has its name only when it is whole.
 * @param to path of the file; `-` for standard output; default: a name in this folder
 * @throws StartupError for an archive that breaks off, or cannot be written
 */
export async function writeBundle(
  client: Pick<MediagenClient, 'bundle'>,
  jobId: string,
  to = `mediagen-${jobId}.zip`,
): Promise<string | null> {
  const { body } = await client.bundle(jobId)
  if (to === '-') {
    for await (const piece of body ?? []) if (!process.stdout.write(piece)) await once(process.stdout, 'drain')
    return null
  }
  const part = `${to}.part`
  try {
    await writeFile(part, body ?? '')
    await rename(part, to)
  } catch (error) {
    await rm(part, { force: true })
    const isLocal = (error as NodeJS.ErrnoException).errno !== undefined
    const words = isLocal
      ? `${to} cannot be written: ${describeFileError(error)}.`
      : 'The archive broke off; try again.'
    throw new StartupError(words, { cause: error })
  }
  return to
}
