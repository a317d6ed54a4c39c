// The outputs of a job as files.
import { writeFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { Job, MediagenClient } from '@mediagen/client/client.ts'
import { StartupError } from '@mediagen/core/errors.ts'

/**
 * Downloads the outputs of a job; returns the paths of the files.
 * @param to path of the first file (the next ones get a number), `-` for standard output; default: names in this folder
 */
export async function writeOutputs(
  client: Pick<MediagenClient, 'download'>,
  job: Job,
  to: string | undefined,
): Promise<string[]> {
  const paths: string[] = []
  for (const [index, output] of job.outputs.entries()) {
    const content = Buffer.from(await (await client.download(output)).arrayBuffer())
    if (to === '-') {
      process.stdout.write(content)
      continue
    }
    const path = nameFile(job, index, to)
    await writeFile(path, content).catch((error: unknown) => {
      const words = `${path} cannot be written: ${(error as Error).message}. mediagen watch ${job.job_id} -o FILE downloads it again.`
      throw new StartupError(words, { cause: error })
    })
    paths.push(path)
  }
  return paths
}

/** For example `poster-x7k2m9qa.png` for `mediagen/poster/text-to-image`. */
function nameFile({ job_id, model, outputs }: Job, index: number, to: string | undefined): string {
  const [, type = 'bin'] = /\/(?:x-)?([\w]+)/.exec(outputs[index]?.content_type ?? '') ?? []
  const extension = { jpeg: 'jpg', mpeg: 'mp3', quicktime: 'mov' }[type] ?? type
  const product = model.split('/').at(-2) ?? model
  const first = to ?? `${product}-${job_id.slice(-8)}.${extension}`
  if (index === 0) return first
  const end = extname(first)
  return `${first.slice(0, first.length - end.length)}-${index + 1}${end}`
}
