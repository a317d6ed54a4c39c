// Runs a WASI program that reads its arguments and writes one file, in memory: it sees no disk, no clock, no network.

const success = 0
const badDescriptor = 8
const [standardInput, folder, file] = [0, 3, 4]
const [directoryType, fileType] = [3, 4]
const firstBytes = 4096

/** What a program left behind. */
export interface ProgramResult {
  readonly status: number
  /** What it wrote to standard output and standard error. */
  readonly text: string
  /** What it wrote to the file that it opened. */
  readonly file: Uint8Array
}

class Exit extends Error {
  readonly status: number
  constructor(status: number) {
    super(`exit status ${status}`)
    this.status = status
  }
}

/** Runs a program to its end. Whatever file it opens, by whatever name, is the one in the result. */
export function runProgram(program: WebAssembly.Module, args: readonly string[]): ProgramResult {
  const argv = args.map((arg) => new TextEncoder().encode(`${arg}\0`))
  const written = { text: new Bytes(), file: new Bytes() }
  // Memory that grows is another buffer, so it is looked up each time.
  let memory: WebAssembly.Memory | null = null
  const view = (): DataView => new DataView((memory as WebAssembly.Memory).buffer)
  const bytes = (start: number, length: number): Uint8Array =>
    new Uint8Array((memory as WebAssembly.Memory).buffer, start, length)

  const host = {
    args_sizes_get(countAt: number, sizeAt: number): number {
      view().setUint32(countAt, argv.length, true)
      view().setUint32(
        sizeAt,
        argv.reduce((sum, arg) => sum + arg.length, 0),
        true,
      )
      return success
    },
    args_get(pointersAt: number, textAt: number): number {
      let at = textAt
      argv.forEach((arg, i) => {
        view().setUint32(pointersAt + 4 * i, at, true)
        bytes(at, arg.length).set(arg)
        at += arg.length
      })
      return success
    },
    clock_time_get(_clock: number, _precision: bigint, timeAt: number): number {
      view().setBigUint64(timeAt, 0n, true)
      return success
    },
    fd_fdstat_get(descriptor: number, statAt: number): number {
      bytes(statAt, 24).fill(0)
      view().setUint8(statAt, descriptor === folder ? directoryType : fileType)
      // Every right.
      bytes(statAt + 8, 16).fill(0xff)
      return success
    },
    fd_fdstat_set_flags: (): number => success,
    fd_prestat_get(descriptor: number, prestatAt: number): number {
      if (descriptor !== folder) return badDescriptor
      view().setUint32(prestatAt, 0, true)
      view().setUint32(prestatAt + 4, 1, true)
      return success
    },
    fd_prestat_dir_name(_descriptor: number, nameAt: number): number {
      view().setUint8(nameAt, '/'.charCodeAt(0))
      return success
    },
    path_open(...parameters: number[]): number {
      view().setUint32(parameters[8] as number, file, true)
      return success
    },
    fd_read(descriptor: number, _buffers: number, _count: number, readAt: number): number {
      if (descriptor !== standardInput) return badDescriptor
      view().setUint32(readAt, 0, true)
      return success
    },
    fd_write(descriptor: number, buffersAt: number, count: number, writtenAt: number): number {
      let total = 0
      for (let i = 0; i < count; i++) {
        const [start, length] = [
          view().getUint32(buffersAt + 8 * i, true),
          view().getUint32(buffersAt + 8 * i + 4, true),
        ]
        written[descriptor === file ? 'file' : 'text'].add(bytes(start, length))
        total += length
      }
      view().setUint32(writtenAt, total, true)
      return success
    },
    // A file that is only written from its beginning to its end has no other place.
    fd_seek: (): number => badDescriptor,
    fd_close: (): number => success,
    proc_exit(status: number): never {
      throw new Exit(status)
    },
  }

  const { exports } = new WebAssembly.Instance(program, { wasi_snapshot_preview1: host })
  memory = exports['memory'] as WebAssembly.Memory
  let status = 0
  try {
    ;(exports['_start'] as () => void)()
  } catch (error) {
    if (!(error instanceof Exit)) throw error
    status = error.status
  }
  return { status, text: new TextDecoder().decode(written.text.take()), file: written.file.take() }
}

/** Bytes that grow. */
class Bytes {
  #bytes = new Uint8Array(firstBytes)
  #length = 0

  add(more: Uint8Array): void {
    const length = this.#length + more.length
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#bytes.length))
      larger.set(this.#bytes)
      this.#bytes = larger
    }
    this.#bytes.set(more, this.#length)
    this.#length = length
  }

  take(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }
}
