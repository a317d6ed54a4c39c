// Leaves the files that it was handed, in their order.
import { copyFileSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'

const { media } = JSON.parse(readFileSync(0, 'utf8'))
for (const [pointer, path] of Object.entries(media)) copyFileSync(path, pointer.replaceAll('/', '_') + extname(path))
