import { appendFileSync, readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeEach, expect } from 'vitest'
function cpu() {
  const s = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ')
  return (Number(s[11]) + Number(s[12]) + Number(s[13]) + Number(s[14])) / 100
}
const start = cpu()
let at = 0
const log = (o: object) => appendFileSync(process.env['ZZ_LOG'] ?? '/tmp/w/gw-measure/zz.log', JSON.stringify(o) + '\n')
beforeEach(() => void (at = cpu()))
afterEach(() => log({ test: expect.getState().currentTestName, file: expect.getState().testPath, cpu: cpu() - at }))
afterAll(() => log({ file: expect.getState().testPath, total: cpu() - start }))
import { Session } from 'node:inspector/promises'
import { writeFileSync } from 'node:fs'
if (process.env['ZZ_PROF']) {
  const s = new Session()
  s.connect()
  await s.post('Profiler.enable')
  await s.post('Profiler.start')
  afterAll(async () => {
    const { profile } = await s.post('Profiler.stop')
    writeFileSync('/tmp/w/gw-measure/p.cpuprofile', JSON.stringify(profile))
  })
}
