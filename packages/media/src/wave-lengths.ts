// The lengths in the header of a WAV file. What streams a sound writes them before it knows them: 0, 2^31 − 1, two billion, and so on.
import { type FileHandle, open } from 'node:fs/promises'

const headBytes = 12
const maxChunks = 1000
// A length that was written before the samples: of a sound that nobody makes, or many times what is there.
const improbableBytes = 2 ** 30
const improbableTimes = 10

/**
 * Gives a WAV file whose samples reach its end the lengths that it has, if its header states others that were only placeholders. A
 * file that lacks some of what its header promises is left as it is.
 */
export async function writeTrueLengths(path: string): Promise<void> {
  await using file = await open(path, 'r+')
  const { size } = await file.stat()
  const head = await read(file, 0, headBytes)
  if (head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WAVE') return
  const stated = head.readUInt32LE(4)
  const data = await findData(file)
  if (data === null || size > 0xffff_ffff) return
  const there = size - data.at - 8
  const isUnknown = data.bytes === 0 && stated + 8 !== size
  if (isUnknown || isPlaceholder(data.bytes, there)) await writeLength(file, data.at + 4, there)
  else if (data.bytes > there) return
  if (stated + 8 !== size) await writeLength(file, 4, size - 8)
}

function isPlaceholder(stated: number, there: number): boolean {
  return stated > there && (stated >= improbableBytes || stated > there * improbableTimes)
}

/** The chunk of the samples: where it begins, and the length that it states. */
async function findData(file: FileHandle): Promise<{ readonly at: number; readonly bytes: number } | null> {
  let at = headBytes
  for (let chunks = 0; chunks < maxChunks; chunks++) {
    const chunk = await read(file, at, 8)
    if (chunk.length < 8) return null
    const bytes = chunk.readUInt32LE(4)
    if (chunk.toString('latin1', 0, 4) === 'data') return { at, bytes }
    // Chunks begin at even offsets.
    at += 8 + bytes + (bytes & 1)
  }
  return null
}

async function read(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
  return buffer.subarray(0, bytesRead)
}

async function writeLength(file: FileHandle, at: number, bytes: number): Promise<void> {
  const field = Buffer.alloc(4)
  field.writeUInt32LE(bytes)
  await file.write(field, 0, field.length, at)
}
