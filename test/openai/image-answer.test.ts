// The answer with pictures, which is sent while they are read.
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { writePictures } from '../../src/openai/images/image-answer.ts'

test('pictures are read as the answer is sent, one after the other, and make the JSON that its length says', async () => {
  const pictures = [Buffer.alloc(1_000_000, 'abc'), Buffer.alloc(0), Buffer.alloc(100_001, 'xyz')]
  const opened: string[] = []
  let piecesRead = 0
  async function* cut(picture: Buffer) {
    for (let at = 0; at < picture.length; at += 1000) {
      piecesRead += 1
      yield picture.subarray(at, at + 1000)
    }
  }
  const outputs = pictures.map(({ length }, index) => ({ url: String(index), bytes: BigInt(length) }))
  const { bytes, body } = await writePictures({ created: 1, quality: 'höher' }, outputs, async ({ url }) => {
    opened.push(url)
    return Readable.from(cut(pictures[Number(url)] ?? Buffer.alloc(0)))
  })
  const sent: Buffer[] = []
  for await (const piece of body) {
    if (sent.push(Buffer.from(piece as string)) === 3) {
      expect(opened).toEqual(['0'])
      expect(piecesRead).toBeLessThan(100)
    }
  }
  const text = Buffer.concat(sent)
  expect(text.length).toBe(bytes)
  const data = pictures.map((picture) => ({ b64_json: picture.toString('base64') }))
  expect(JSON.parse(text.toString())).toEqual({ created: 1, quality: 'höher', data })
})

test('the answer of a job without pictures has its length', async () => {
  const { bytes, body } = await writePictures({ created: 1 }, [], async () => Readable.from([]))
  const text = (await body.toArray()).join('')
  expect([text, bytes]).toEqual(['{"created":1,"data":[]}', text.length])
})

test('the file of an answer that nobody reads is closed', async () => {
  const content = Readable.from(['abc'])
  const { body } = await writePictures({ created: 1 }, [{ url: 'x', bytes: 3n }], async () => content)
  body.destroy()
  await expect.poll(() => content.destroyed).toBe(true)
})
