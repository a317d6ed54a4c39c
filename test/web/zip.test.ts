// Archives of outputs: what they hold can be read by the programs that people have.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { createZip } from '../../web/zip.ts'

const entry = (name: string, text: string) => ({
  name,
  content: new TextEncoder().encode(text),
  modifiedMs: new Date(2026, 10, 22, 10, 30, 8).getTime(),
})

test('files are stored as they are, with names of their own, and a directory that finds them', async () => {
  const zip = Buffer.from(
    await (await createZip([entry('a.png', 'one'), entry('ö.png', ''), entry('a.png', 'two')])).arrayBuffer(),
  )
  const end = zip.subarray(-22)
  expect([end.readUInt32LE(0), end.readUInt16LE(8), end.readUInt16LE(10)]).toEqual([0x06054b50, 3, 3])
  let at = end.readUInt32LE(16)
  expect(at + end.readUInt32LE(12)).toBe(zip.length - 22)
  const found = []
  for (let left = 3; left > 0; left -= 1) {
    expect(zip.readUInt32LE(at)).toBe(0x02014b50)
    const length = zip.readUInt16LE(at + 28)
    const [crc, size, start] = [16, 24, 42].map((place) => zip.readUInt32LE(at + place)) as [number, number, number]
    const from = start + 30 + length
    const content = zip.subarray(from, from + size)
    expect([zip.readUInt32LE(start), crc]).toEqual([0x04034b50, crc32(content)])
    found.push([zip.toString('utf8', at + 46, at + 46 + length), content.toString()])
    at += 46 + length
  }
  expect(found).toEqual([
    ['a.png', 'one'],
    ['ö.png', ''],
    ['a (2).png', 'two'],
  ])
})

test("Python's zipfile reads it", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-zip-'))
  try {
    writeFileSync(join(folder, 'x.zip'), Buffer.from(await (await createZip([entry('a.txt', 'one')])).arrayBuffer()))
    const python =
      'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; z.extractall(sys.argv[2])'
    execFileSync('python3', ['-c', python, join(folder, 'x.zip'), folder])
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('one')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
