// The contract of the port to the files, for every implementation.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BlobContent, type Blobs, deleteAll } from '../../../src/files/blobs/blobs.ts'

/** An empty store of files; `again` is another process's view of the same files. */
export interface OpenedBlobs extends AsyncDisposable {
  readonly blobs: Blobs
  readonly again: Blobs
}

const content = Buffer.from('0123456789')

async function read(opened: BlobContent | null): Promise<string | null> {
  return opened && (await buffer(opened)).toString()
}

async function keysOf(blobs: Blobs, prefix: string): Promise<string[]> {
  return (await Array.fromAsync(blobs.list(prefix))).map(({ key }) => key).toSorted()
}

async function* pieces(...texts: readonly string[]): AsyncIterable<Uint8Array> {
  for (const text of texts) {
    await setImmediate()
    yield Buffer.from(text)
  }
}

/** Tests an implementation. */
export function describeBlobs(name: string, open: () => Promise<OpenedBlobs>): void {
  describe(name, () => {
    let opened: OpenedBlobs
    let blobs: Blobs
    let folder: string
    beforeAll(async () => {
      opened = await open()
      blobs = opened.blobs
      folder = mkdtempSync(join(tmpdir(), 'mediagen-blobs-'))
    })
    afterAll(async () => {
      await opened[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    })
    const leave = (file: string): string => {
      writeFileSync(join(folder, file), content)
      return join(folder, file)
    }

    test('a stream becomes a blob that every process sees', async () => {
      const before = Date.now()
      await blobs.put('job_stream/0.bin', pieces('01234', '', '56789'))
      for (const seen of [blobs, opened.again]) {
        expect(await seen.stat('job_stream/0.bin')).toEqual({
          key: 'job_stream/0.bin',
          bytes: 10,
          storedAtMs: expect.closeTo(before, -5),
        })
        expect(await read(await seen.open('job_stream/0.bin'))).toBe('0123456789')
      }
    })

    test('an empty stream becomes an empty blob', async () => {
      await blobs.put('job_empty/0.bin', pieces())
      expect(await blobs.stat('job_empty/0.bin')).toMatchObject({ bytes: 0 })
      expect(await read(await blobs.open('job_empty/0.bin'))).toBe('')
    })

    test('several local files are handed over together', async () => {
      const files = new Map(['0', '1'].map((name) => [`job_files/${name}.bin`, leave(name)]))
      await blobs.putFiles(files)
      for (const [key, file] of files) {
        expect(await read(await blobs.open(key))).toBe('0123456789')
        expect(() => readFileSync(file)).toThrow(/ENOENT/)
      }
    })

    test('of several local files, one that cannot be stored does not leave others halfway', async () => {
      const left = leave('left')
      const files = new Map([
        ['job_missing/0.bin', join(folder, 'missing')],
        ['job_missing/1.bin', left],
      ])
      await expect(blobs.putFiles(files)).rejects.toThrow(/ENOENT/)
      expect(await read(await blobs.open('job_missing/1.bin'))).toBe('0123456789')
      expect(() => readFileSync(left)).toThrow(/ENOENT/)
    })

    test('a local file is handed over, and is gone afterwards', async () => {
      const file = leave('handed')
      await blobs.put('job_file/0.bin', { file })
      expect(await read(await blobs.open('job_file/0.bin'))).toBe('0123456789')
      expect(() => readFileSync(file)).toThrow(/ENOENT/)
    })

    test('a blob of the same key is replaced', async () => {
      await blobs.put('job_twice/0.bin', pieces('first'))
      await blobs.put('job_twice/0.bin', pieces('second!'))
      expect(await read(await blobs.open('job_twice/0.bin'))).toBe('second!')
      expect(await blobs.stat('job_twice/0.bin')).toMatchObject({ bytes: 7 })
    })

    test('a blob is not visible before it is complete; a stream that breaks off leaves nothing', async () => {
      const key = 'job_broken/0.bin'
      const half = Promise.withResolvers<void>()
      const rest = Promise.withResolvers<void>()
      async function* broken(): AsyncIterable<Uint8Array> {
        yield Buffer.from('half')
        half.resolve()
        await rest.promise
        throw new Error('the client hung up')
      }
      const put = expect(blobs.put(key, broken())).rejects.toThrow('the client hung up')
      await half.promise
      const look = async () => [await blobs.stat(key), await blobs.open(key), await keysOf(blobs, 'job_broken')]
      expect(await look()).toEqual([null, null, []])
      rest.resolve()
      await put
      expect(await look()).toEqual([null, null, []])
    })

    test('a put that is aborted stores nothing', async () => {
      const abort = new AbortController()
      async function* endless(): AsyncIterable<Uint8Array> {
        for (;;) {
          await setImmediate()
          yield content
          abort.abort(new Error('no longer wanted'))
        }
      }
      await expect(blobs.put('job_aborted/0.bin', endless(), { signal: abort.signal })).rejects.toThrow()
      expect(await blobs.stat('job_aborted/0.bin')).toBeNull()
    })

    test('a part is read by its first and last byte', async () => {
      await blobs.put('job_range/0.bin', pieces('0123456789'))
      const part = async (start: number, end: number) => read(await blobs.open('job_range/0.bin', { start, end }))
      expect([await part(0, 0), await part(3, 6), await part(9, 9), await part(0, 9)]).toEqual([
        '0',
        '3456',
        '9',
        '0123456789',
      ])
    })

    test('a large blob is read as it was stored, and reading may stop half-way', async () => {
      const large = Buffer.alloc(3_000_000, 'abcdefg')
      await blobs.put('job_large/0.bin', pieces(large.toString()))
      const stream = await blobs.open('job_large/0.bin')
      stream?.destroy()
      const whole = await blobs.open('job_large/0.bin')
      expect(whole && (await buffer(whole)).equals(large)).toBe(true)
    })

    test('a missing blob is null, and an invalid key is a bug of the caller', async () => {
      expect([await blobs.stat('job_none/0.bin'), await blobs.open('job_none/0.bin')]).toEqual([null, null])
      expect(await blobs.copyTo('job_none/0.bin', join(folder, 'none'))).toBe(false)
      for (const key of ['', '/', '/etc/passwd', 'a', 'a/', 'a//b', '../a', 'a/..', 'a/../b', './a', 'a/./b', '.a/b'])
        await expect(blobs.put(key, pieces('x')), key).rejects.toThrow(TypeError)
      for (const key of ['job_stream', 'job_stream/', 'job_stream/..', '../../etc/passwd', 'a\0/b'])
        expect([await blobs.stat(key), await blobs.open(key)], key).toEqual([null, null])
    })

    test('a local copy is private', async () => {
      await blobs.put('job_copy/0.bin', pieces('0123456789'))
      const copy = join(folder, 'copy')
      expect(await blobs.copyTo('job_copy/0.bin', copy)).toBe(true)
      expect(readFileSync(copy, 'utf8')).toBe('0123456789')
      writeFileSync(copy, 'changed')
      expect(await read(await blobs.open('job_copy/0.bin'))).toBe('0123456789')
      await expect(blobs.copyTo('job_copy/0.bin', copy)).rejects.toThrow(/EEXIST/)
      expect(readFileSync(copy, 'utf8')).toBe('changed')
    })

    test('blobs are listed by the beginning of their keys, which need not end at a slash', async () => {
      const keys = ['list_a/0.bin', 'list_a/0.preview.webp', 'list_a-2/0.bin', 'list_ab/0.bin', 'list_b/deep/er/0.bin']
      for (const key of keys) await blobs.put(key, pieces('0123456789'))
      expect(await keysOf(blobs, 'list_a/')).toEqual(keys.slice(0, 2))
      expect(await keysOf(blobs, 'list_a')).toEqual(keys.slice(0, 4).toSorted())
      expect(await keysOf(blobs, 'list_a/0.p')).toEqual(['list_a/0.preview.webp'])
      expect(await keysOf(blobs, 'list_b/')).toEqual(['list_b/deep/er/0.bin'])
      expect(await keysOf(blobs, 'list_c')).toEqual([])
      expect(await keysOf(blobs, '')).toEqual(expect.arrayContaining(keys))
      for await (const found of blobs.list('list_')) expect(found).toEqual(await blobs.stat(found.key))
      // Keys that are equal up to a slash follow each other, so that they can be counted together.
      const names = (await Array.fromAsync(blobs.list('list_'))).map(({ key }) => key.split('/')[0])
      expect(names.filter((name, index) => name !== names[index - 1]).length).toBe(new Set(names).size)
    })

    test('more blobs than fit on a page are all listed', async () => {
      const keys = Array.from({ length: 30 }, (_, index) => `many_${String(index).padStart(2, '0')}/0.bin`)
      await Promise.all(keys.map((key) => blobs.put(key, pieces('x'))))
      expect(await keysOf(blobs, 'many_')).toEqual(keys)
    })

    test('deleting removes the named blobs for every process, and ignores missing ones', async () => {
      for (const key of ['gone_1/0.bin', 'gone_1/1.bin', 'gone_10/0.bin']) await blobs.put(key, pieces('x'))
      await blobs.delete(['gone_1/0.bin', 'gone_1/9.bin', 'gone_9/0.bin'])
      expect(await keysOf(opened.again, 'gone_')).toEqual(['gone_1/1.bin', 'gone_10/0.bin'])
      await deleteAll(blobs, 'gone_1/')
      await deleteAll(blobs, 'gone_1/')
      expect(await keysOf(opened.again, 'gone_')).toEqual(['gone_10/0.bin'])
      await blobs.put('gone_1/0.bin', pieces('again'))
      expect(await read(await blobs.open('gone_1/0.bin'))).toBe('again')
    })

    test('a reader finishes although the blob is deleted meanwhile', async () => {
      await blobs.put('job_reading/0.bin', pieces('0123456789'))
      const reading = await blobs.open('job_reading/0.bin')
      await blobs.delete(['job_reading/0.bin'])
      expect(await read(reading)).toBe('0123456789')
      expect(await blobs.stat('job_reading/0.bin')).toBeNull()
    })

    test('many processes store and delete under one prefix at once', async () => {
      await Promise.all(
        Array.from({ length: 40 }, async (_, index) => {
          const side = index % 2 === 0 ? blobs : opened.again
          const key = `busy/${index}.bin`
          await side.put(key, pieces(String(index)))
          if (index % 4 === 0) await side.delete([key])
        }),
      )
      expect((await keysOf(blobs, 'busy/')).length).toBe(30)
    })

    test('a URL of the store itself, where it serves any, answers with the blob', async () => {
      await blobs.put('job_signed/0.bin', pieces('0123456789'))
      const url = await blobs.sign('job_signed/0.bin', 60_000)
      if (url === null) return expect(url).toBeNull()
      expect(await (await fetch(url)).text()).toBe('0123456789')
    })
  })
}
