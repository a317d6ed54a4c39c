// Changes files for tests of what checks its answers: it gives the answer that the request has.
import { writeFileSync } from 'node:fs'
import { serveTasks } from '@mediagen/engine/serve.ts'

/** What it is asked. */
export interface HostileRequest {
  readonly path: string
  readonly changedPath: string
  readonly answer: object
}

serveTasks(async (request) => {
  const { changedPath, answer } = request as HostileRequest
  writeFileSync(changedPath, 'changed')
  return answer
}).ready()
