// A server whose models take pictures, and forms as clients write them.
import { copyFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { Engine } from '@mediagen/engine/engine.ts'
import sharp from 'sharp'
import { startTestApp, type TestApp, testCatalog } from '../test-app.ts'

/** The models of these tests. */
export const editCatalog = [
  testCatalog,
  ...['openai.yaml', 'edits.yaml'].map((name) => join(import.meta.dirname, '../models', name)),
].join(':')

/** Leaves the pictures that it was handed. */
const handedOn: Engine = {
  kind: 'handed-on',
  schema: {},
  waits: () => false,
  unready: async () => null,
  afterLoss: () => 'again',
  async run(_spec, { media, folder }) {
    const files: string[] = []
    for (const path of (await media()).values()) {
      const name = `${files.length}${extname(path)}`
      await copyFile(path, join(await folder(), name))
      files.push(name)
    }
    return { files, usage: {} }
  },
  close: async () => {},
}

/** Starts the server. */
export function startEditApp(settings: Readonly<Record<string, string>> = {}): Promise<TestApp> {
  const models = { MEDIAGEN_OPENAI_EDIT_MODEL: 'test/edit/one' }
  return startTestApp({ MEDIAGEN_CATALOG: editCatalog, ...models, ...settings }, { engines: [handedOn] })
}

/** A picture of one colour. */
export function paint(color: string): Promise<Buffer> {
  return sharp({ create: { width: 16, height: 16, channels: 3, background: color } })
    .png()
    .toBuffer()
}

/** A part of a form: a text, or a file with a name and bytes. */
export type Part = readonly [name: string | null, content: string | Buffer, fileName?: string]

/** A form as it is written. */
export function writeForm(parts: readonly Part[], boundary = 'b0undary'): Buffer {
  const pieces = parts.flatMap(([name, content, fileName]) => {
    const named = name === null ? '' : `; name="${name}"`
    const file = fileName === undefined ? '' : `; filename="${fileName}"\r\nContent-Type: image/png`
    return [`--${boundary}\r\nContent-Disposition: form-data${named}${file}\r\n\r\n`, content, '\r\n']
  })
  return Buffer.concat([...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece)))
}

/** The content type of such a form. */
export const formType = 'multipart/form-data; boundary=b0undary'
