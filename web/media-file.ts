// A file as a reference that an input holds: a data: URI where a request has room for it, else the address of an upload.
import type { Upload } from './upload.ts'

/**
 * Makes a reference to a file; `largest` is the longest data: URI that a request has room for.
 * @throws Error in words for people
 */
export async function toMediaReference(
  file: Blob,
  largest: number,
  upload: Upload,
  onProgress: (fraction: number) => void,
): Promise<string> {
  // Base64 makes four characters of three bytes.
  const fits = Math.ceil(file.size / 3) * 4 + 64 <= largest
  return fits ? readAsUri(file) : upload(file, onProgress)
}

/** The file as a data: URI. */
function readAsUri(file: Blob): Promise<string> {
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
