// The lengths in the header of a WAV file. What streams a sound writes them before it knows them: 0, 2^31 − 1, two billion, and so on.
import { type FileHandle, open } from 'node:fs/promises'
import { type Read, readAt } from './read-at.ts'

const headBytes = 12
const maxChunks = 1000
// A length that was written before the samples: of an improbably long sound, or many times what is there.
const improbableBytes = 2 ** 30
const improbableTimes = 10
// The value of a field of 32 bits whose length is in another field of 64 bits.
const largest = 0xffff_ffff

/** The lengths in a header, and where they are. */
export interface WaveHeader {
  /** Length of everything after the first eight bytes, and of the samples, as stated. */
  readonly formBytes: number
  readonly dataBytes: number
  /** Where the samples begin. */
  readonly dataAt: number
  /** Offset of lengths of 64 bits, EBU Tech 3306; null where they have 32. */
  readonly ds64At: number | null
  /** Offset of the number of samples; null if it is not stated. */
  readonly factAt: number | null
  /** Bytes of a sample of all channels. */
  readonly blockBytes: number
}

/**
 * Gives a WAV file whose samples reach its end the lengths that it has, if its header states others that were only placeholders. A
 * file that lacks some of what its header promises is left as it is.
 */
export async function writeTrueLengths(path: string): Promise<void> {
  await using file = await open(path, 'r+')
  const { size } = await file.stat()
  const header = await readWaveHeader((at, length) => readAt(file, at, length))
  if (header === null || (header.ds64At === null && size > largest)) return
  const { formBytes, dataBytes, dataAt } = header
  // What is behind the form is no part of it.
  const isWrong = formBytes + 8 > size || formBytes + 8 < dataAt + dataBytes
  const there = size - dataAt
  const isUnknown = (dataBytes === 0 && isWrong) || isPlaceholder(dataBytes, there)
  if (!isUnknown && dataBytes > there) return
  if (isUnknown || isWrong) await writeLengths(file, header, size, isUnknown ? there : dataBytes)
}

function isPlaceholder(stated: number, there: number): boolean {
  return stated > there && (stated >= improbableBytes || stated > there * improbableTimes)
}

/** Reads a header up to the samples; null if the file is no WAV, or has no samples. */
export async function readWaveHeader(read: Read): Promise<WaveHeader | null> {
  const head = await read(0, headBytes)
  const form = head.toString('latin1', 0, 4)
  if ((form !== 'RIFF' && form !== 'RF64') || head.toString('latin1', 8) !== 'WAVE') return null
  const found = { formBytes: head.readUInt32LE(4), ds64At: null as number | null, factAt: null as number | null }
  let [at, largeBytes, blockBytes] = [headBytes, 0, 1]
  for (let chunks = 0; chunks < maxChunks; chunks++) {
    const chunk = await read(at, 24)
    if (chunk.length < 8) return null
    const [id, bytes] = [chunk.toString('latin1', 0, 4), chunk.readUInt32LE(4)]
    at += 8
    if (id === 'data')
      return {
        ...found,
        blockBytes,
        dataAt: at,
        dataBytes: bytes === largest && found.ds64At !== null ? largeBytes : bytes,
      }
    if (id === 'fact' && bytes >= 4) found.factAt = at
    if (id === 'fmt ' && chunk.length === 24) blockBytes = chunk.readUInt16LE(20) || 1
    if (id === 'ds64' && form === 'RF64' && bytes >= 24 && chunk.length === 24) {
      found.ds64At = at
      found.formBytes = Number(chunk.readBigUInt64LE(8))
      largeBytes = Number(chunk.readBigUInt64LE(16))
    }
    // Chunks begin at even offsets.
    at += bytes + (bytes & 1)
  }
  return null
}

async function writeLengths(file: FileHandle, header: WaveHeader, size: number, dataBytes: number): Promise<void> {
  const { ds64At, factAt, dataAt, blockBytes } = header
  const samples = Math.floor(dataBytes / blockBytes)
  const write = async (at: number, bytes: 4 | 8, value: number): Promise<void> => {
    const field = Buffer.alloc(8)
    field.writeBigUInt64LE(BigInt(value))
    await file.write(field, 0, bytes, at)
  }
  const is64 = ds64At !== null
  await write(4, 4, is64 ? largest : size - 8)
  await write(dataAt - 4, 4, is64 ? largest : dataBytes)
  if (factAt !== null) await write(factAt, 4, Math.min(samples, largest))
  if (is64)
    for (const [index, value] of [size - 8, dataBytes, samples].entries()) await write(ds64At + 8 * index, 8, value)
}
