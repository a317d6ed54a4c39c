// Reports progress and says in a file beside the gate that it has begun, waits for the file that the input names, then leaves a picture.
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

const { input } = JSON.parse(readFileSync(0, 'utf8'))
process.stdout.write('{"progress":0.5}\n')
writeFileSync(`${input.gate}.begun`, '')
while (!existsSync(input.gate)) await setTimeout(10)
copyFileSync(join(import.meta.dirname, 'picture.png'), 'out.png')
