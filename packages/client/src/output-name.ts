// Names for the files of outputs.
import type { Job } from './records.ts'

/**
 * A file name that tells the model and the job, such as `poster-x7k2m9qa.png` for `acme/poster/text-to-image`.
 * @param first name of the first output; the next ones get a number before the extension
 */
export function nameOutput({ job_id, model, outputs }: Job, index: number, first?: string): string {
  const [, type = 'bin'] = /\/(?:x-)?([\w]+)/.exec(outputs[index]?.content_type ?? '') ?? []
  const extension = { jpeg: 'jpg', mpeg: 'mp3', quicktime: 'mov' }[type] ?? type
  const name = first ?? `${model.split('/').at(-2) ?? model}-${job_id.slice(-8)}.${extension}`
  return index === 0 ? name : name.replace(/(\.[^./]*)?$/, `-${index + 1}$1`)
}
