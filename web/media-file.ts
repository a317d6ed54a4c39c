// A file as a data: URI that fits into a request; a picture that is too large is drawn smaller.

/** A file, ready to be sent. */
export interface MediaValue {
  readonly uri: string
  /** What was done to it, for the person to know; null for nothing. */
  readonly note: string | null
}

// Tried in this order until the picture fits.
const longestSides = [4096, 3072, 2048, 1536, 1024, 768, 512]
const quality = 0.88

/**
 * Reads a file.
 * @throws Error in words for people, when it does not fit and cannot be made to
 */
export async function toMediaValue(file: Blob, largest: number): Promise<MediaValue> {
  // Base64 makes four characters of three bytes.
  if (Math.ceil(file.size / 3) * 4 + 64 <= largest) return { uri: await readAsUri(file), note: null }
  if (!file.type.startsWith('image/'))
    throw new Error(
      `The file is too large: this server takes requests of ${Math.floor(largest / 1000)} kB, so about ${Math.floor((largest * 3) / 4000)} kB of media.`,
    )
  const picture = await createImageBitmap(file).catch(() => null)
  if (!picture) throw new Error('The file is too large to be sent, and this browser cannot read it to make it smaller.')
  try {
    return await shrink(picture, largest)
  } finally {
    picture.close()
  }
}

async function shrink(picture: ImageBitmap, largest: number): Promise<MediaValue> {
  const side = Math.max(picture.width, picture.height)
  for (const longest of [side, ...longestSides.filter((one) => one < side)]) {
    const scale = longest / side
    const canvas = document.createElement('canvas')
    canvas.width = Math.max(1, Math.round(picture.width * scale))
    canvas.height = Math.max(1, Math.round(picture.height * scale))
    canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height)
    const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/webp', quality))
    if (!blob) break
    const uri = await readAsUri(blob)
    if (uri.length > largest) continue
    const size = scale === 1 ? 'compressed' : `reduced to ${canvas.width} × ${canvas.height}`
    return { uri, note: `${picture.width} × ${picture.height}, ${size} to fit into a request.` }
  }
  throw new Error('The picture is too large to be sent, even when it is made smaller.')
}

/** The file as a data: URI. */
export function readAsUri(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(String(reader.result)))
    reader.addEventListener('error', () => reject(new Error('The file cannot be read.', { cause: reader.error })))
    reader.readAsDataURL(file)
  })
}

// What a request holds beside the file.
const roomForTheRest = 16_384
const usualBody = 1_048_576

/** Longest data: URI that this server's requests have room for, in characters. */
export async function readLargestMedia(): Promise<number> {
  try {
    const limits = (await (await fetch('/console/limits.json')).json()) as { max_body_bytes: number }
    return limits.max_body_bytes - roomForTheRest
  } catch {
    return usualBody - roomForTheRest
  }
}
