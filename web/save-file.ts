// Offers a file that was made here for saving.
import { element } from './element.ts'

// The browser needs the URL until it has begun to write.
const offeredMs = 60_000

/** Has the browser save a file under this name. */
export function offerFile(file: Blob, name: string): void {
  const url = URL.createObjectURL(file)
  element('a', { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), offeredMs)
}
