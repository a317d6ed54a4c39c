// Writes the OpenAPI document to the file that is named, for tools that check it: `npm run check:openapi`.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { readOpenapi } from './make.ts'

const [, , file = ''] = process.argv
mkdirSync(dirname(file), { recursive: true })
writeFileSync(file, JSON.stringify(await readOpenapi(), null, 2))
