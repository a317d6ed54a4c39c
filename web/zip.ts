// Zip archives of files as they are: media are compressed already.
import { downloadZip } from 'client-zip'

export interface ZipEntry {
  readonly name: string
  readonly content: Uint8Array<ArrayBuffer>
  /** Milliseconds since 1970. */
  readonly modifiedMs: number
}

/** An archive of these files; equal names are numbered. */
export function createZip(entries: readonly ZipEntry[]): Promise<Blob> {
  const files = nameApart(entries).map(({ name, content: input, modifiedMs }) => {
    return { name, input, lastModified: new Date(modifiedMs) }
  })
  return downloadZip(files).blob()
}

function nameApart(entries: readonly ZipEntry[]): readonly ZipEntry[] {
  const seen = new Map<string, number>()
  return entries.map((entry) => {
    const count = (seen.get(entry.name) ?? 0) + 1
    seen.set(entry.name, count)
    return count === 1 ? entry : { ...entry, name: entry.name.replace(/(\.\w+)?$/, ` (${count})$1`) }
  })
}
