// The pictures by which a catalog shows its products: small ones as `data:` URIs, so that a page gets them with one request.
import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { findContentType } from '@mediagen/engine/content-types.ts'
import type { Model, Sample } from './model.ts'

/** In bytes: of a picture, and of all. A page loads others one by one. */
const bounds = { each: 8192, inAll: 57_344 }

/**
 * Reads the small pictures of products: of each the first among the samples of its models, unless it is large or elsewhere.
 * @returns `data:` URIs by the names under which the files are served
 */
export async function readCovers(models: readonly Model[]): Promise<Readonly<Record<string, string>>> {
  const covers: Record<string, string> = {}
  const shown = new Set<string>()
  let room = bounds.inAll
  for (const { product, samples, sampleFiles } of models) {
    const picture = samples.map(toPicture).find((one) => one !== null)
    if (picture === undefined || shown.has(product)) continue
    shown.add(product)
    const name = basename(picture)
    const content = await readSmall(sampleFiles.get(name), Math.min(bounds.each, room))
    if (content === null) continue
    room -= content.byteLength
    covers[name] = `data:${findContentType(name)};base64,${content.toString('base64')}`
  }
  return covers
}

/** A file; null if it is larger than that, or cannot be read any more. */
async function readSmall(path: string | undefined, mostBytes: number): Promise<Buffer | null> {
  if (path === undefined) return null
  try {
    return (await stat(path)).size > mostBytes ? null : await readFile(path)
  } catch {
    return null
  }
}

function toPicture({ previewUrl, url, contentType }: Sample): string | null {
  return previewUrl ?? (contentType.startsWith('image/') ? url : null)
}
