// Leaves a second of a tone. If the input names a gate, waits first until that file is there.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

const { input } = JSON.parse(readFileSync(0, 'utf8'))
if (input.gate) {
  writeFileSync(`${input.gate}.begun`, '')
  while (!existsSync(input.gate)) await setTimeout(10)
}
const rate = 24_000
const samples = Buffer.alloc(rate * 2)
for (let at = 0; at < rate; at += 1) samples.writeInt16LE(Math.round(16_000 * Math.sin(at / 10)), at * 2)
const head = Buffer.alloc(44)
head.write('RIFF', 0)
head.writeUInt32LE(36 + samples.length, 4)
head.write('WAVEfmt ', 8)
head.writeUInt32LE(16, 16)
head.writeUInt16LE(1, 20)
head.writeUInt16LE(1, 22)
head.writeUInt32LE(rate, 24)
head.writeUInt32LE(rate * 2, 28)
head.writeUInt16LE(2, 32)
head.writeUInt16LE(16, 34)
head.write('data', 36)
head.writeUInt32LE(samples.length, 40)
writeFileSync('out.wav', Buffer.concat([head, samples]))
