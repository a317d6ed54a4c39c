// Texts and checks of files in inputs: valid references, known facts, and errors before the upload.
import type { MediaField } from './form-model.ts'
import { formatBytes } from './job-words.ts'

/** Known facts about a file; null if unknown. */
export interface MediaFacts {
  readonly name: string | null
  /** Such as `image/png`. */
  readonly type: string | null
  readonly bytes: number | null
  /** URL of a preview. */
  readonly picture: string | null
}

/** Whether a text refers to a file: a URL, a data: URI or an upload id. */
export function isReference(text: string): boolean {
  return /^(data:[^\s,]+,|https?:\/\/[^\s/]|file_\w)\S*$/i.test(text)
}

/** The accepted media of a field, as a phrase. */
export function describeKind({ accept }: Pick<MediaField, 'accept'>): string {
  const kinds = { image: 'picture', video: 'video', audio: 'sound' }
  const kind = kinds[accept.split('/')[0] as keyof typeof kinds] as string | undefined
  return accept.includes(',') || !kind ? 'picture, video or sound' : kind
}

/** The given files that can be uploaded, and why others cannot; null if all can. */
export function chooseFiles(
  files: readonly File[],
  field: Pick<MediaField, 'accept'>,
  largest: number,
  room: { readonly most: number; readonly used: number },
): { readonly taken: readonly File[]; readonly words: string | null } {
  const words: string[] = []
  const good = files.filter((file) => {
    const refusal = refuseFile(file, field, largest)
    if (refusal !== null) words.push(refusal)
    return refusal === null
  })
  const taken = good.slice(0, room.most - room.used)
  const left = good.length - taken.length
  if (left > 0)
    words.push(
      `There is room for ${room.most === 1 ? 'one file' : `${room.most} files`}; ${left === 1 ? 'one was' : `${left} were`} left out.`,
    )
  return { taken, words: words.join(' ') || null }
}

/** Why a file cannot be uploaded; null if the server must decide. */
function refuseFile(file: File, field: Pick<MediaField, 'accept'>, largest: number): string | null {
  const name = file.name ? `“${file.name}”` : 'This'
  if (file.size === 0) return `${name} is empty.`
  // If the system does not know the type, the server detects it.
  if (file.type !== '' && (!isMediaType(file.type) || !accepts(field.accept, file.type)))
    return `${name} is not a ${describeKind(field)}.`
  if (file.size <= largest) return null
  return `${name} is larger than ${formatBytes(largest)}, the limit of this server.`
}

function accepts(accept: string, type: string): boolean {
  return accept
    .split(',')
    .map((range) => range.trim())
    .some((range) => range === type || (range.endsWith('/*') && type.startsWith(range.slice(0, -1))))
}

/** Type and size. */
export function describeFacts({ type, bytes }: MediaFacts): string {
  const kind = type?.replace(/^\w+\/(x-)?/, '').toUpperCase() ?? ''
  return [kind, bytes === null ? '' : formatBytes(bytes)].filter(Boolean).join(' · ')
}

/** The facts in a reference. */
export function readReference(reference: string): MediaFacts {
  const type = /^data:([\w/+.-]+)/i.exec(reference)?.[1] ?? null
  if (reference.startsWith('data:')) {
    const bytes = Math.floor(((reference.length - reference.indexOf(',') - 1) * 3) / 4)
    return { name: 'Embedded in the input', type, bytes, picture: reference }
  }
  if (reference.startsWith('file_')) return { name: reference, type, bytes: null, picture: null }
  const { host = '', pathname = '' } = URL.parse(reference) ?? {}
  return { name: decode(pathname.split('/').findLast(Boolean) ?? '') || host, type, bytes: null, picture: reference }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Largest file that this server accepts, in bytes; its page says so. */
export function readLargestUpload(): number {
  return Number(document.documentElement.dataset['maxUploadBytes'])
}

/** Whether inputs may refer to files of this type; the server checks the content. */
export function isMediaType(type: string): boolean {
  return /^(image|video|audio)\/[\w.+-]+$/.test(type)
}
