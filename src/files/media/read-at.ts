import type { FileHandle } from 'node:fs/promises'

/** Reads bytes at an offset of a file; fewer at its end. */
export type Read = (at: number, length: number) => Promise<Buffer>

/** Reads from an open file. */
export async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
  return buffer.subarray(0, bytesRead)
}
