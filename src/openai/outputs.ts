// The bytes of outputs, for answers that carry them.
import { buffer } from 'node:stream/consumers'
import type { Output } from '../../gen/mediagen/v1/generation_pb.ts'
import type { Blobs } from '../files/blobs/blobs.ts'

/** Reads an output as base64. */
export type ReadOutput = (output: Output) => Promise<string>

/**
 * Reads outputs where this process serves the files, else from where the core serves them.
 * @param blobs the files; undefined in front of a core elsewhere
 */
export function createOutputReader(blobs: Pick<Blobs, 'open'> | undefined): ReadOutput {
  return async ({ url }) => {
    if (blobs) {
      const content = await blobs.open(decodeURIComponent(new URL(url).pathname.replace(/^\/assets\//, '')))
      if (content) return (await buffer(content)).toString('base64')
    }
    const answer = await fetch(url)
    if (!answer.ok) throw new Error(`the core answered ${answer.status} for an output`)
    return Buffer.from(await answer.arrayBuffer()).toString('base64')
  }
}
