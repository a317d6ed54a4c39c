// Files of a call, as references in the input of a model.
import type { MediagenClient } from '@mediagen/client/client.ts'
import type { Keys } from './keys.ts'

/** A file, as the AI SDK has it for pictures and for videos. */
export type CallFile =
  | { readonly type: 'file'; readonly mediaType: string; readonly data: string | Uint8Array }
  | { readonly type: 'url'; readonly url: string; readonly mediaType?: string }

// Greater files are uploaded: the whole request of a start is limited, by default to 1 MiB.
const mostEmbedded = 65_536

/** The reference that an input has for a file. What is uploaded is uploaded once for the call. */
export async function toReference(
  file: CallFile,
  client: MediagenClient,
  keys: Keys,
  signal: AbortSignal | undefined,
): Promise<string> {
  if (file.type === 'url') return file.url
  const base64 = typeof file.data === 'string' ? file.data : toBase64(file.data)
  if (base64.length <= mostEmbedded) return `data:${file.mediaType};base64,${base64}`
  return keys.once(base64, async () => {
    const bytes = Uint8Array.from(atob(base64), (character) => character.codePointAt(0) ?? 0)
    const { file_id: fileId } = await client.upload(new Blob([bytes], { type: file.mediaType }), { signal })
    return fileId
  })
}

function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(''))
}
