// As many render processes as MEDIAGEN_CHILD_PROCESSES says, and no more. Alone in its file: the processes of others would be counted.
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { expect, test } from 'vitest'
import { startTestApp, withBuiltin } from '../../test-app.ts'

const film = 'builtin/video/motion/text-to-video'

/** Processes of this one that render, as Linux lists them. */
function countRenderProcesses(): number {
  const tasks = readdirSync('/proc/self/task')
  const children = tasks.flatMap((task) => readFileSync(`/proc/self/task/${task}/children`, 'utf8').trim().split(' '))
  return children.filter((pid) => {
    try {
      return readFileSync(`/proc/${Number(pid)}/cmdline`, 'utf8').includes('render-process')
    } catch {
      return false
    }
  }).length
}

test.runIf(process.platform === 'linux')(
  'MEDIAGEN_CHILD_PROCESSES bounds how many jobs of the built-in models are rendered at a time',
  async () => {
    // A processor or more is what there would be without it.
    const processes = availableParallelism() > 1 ? 1 : 2
    await using bounded = await startTestApp({ MEDIAGEN_CHILD_PROCESSES: String(processes) }, withBuiltin)
    const started = await Promise.all(
      [1, 2].map(() => bounded.generate(film, { prompt: 'x', duration: 30 }, { wait: false })),
    )
    const read = () => Promise.all(started.map(({ body }) => bounded.send(`/v1/jobs/${body.job_id}`)))
    // Both have begun, and one renders: the other is with it, or waits for its process.
    const facts = async () => (await read()).map(({ body: { status, progress } }) => [status, progress > 0])
    const expected = ['running', true]
    const other = ['running', processes > 1]
    await expect.poll(facts).toEqual(expect.arrayContaining([expected, other]))
    // Those of a server that has just been stopped may still be ending.
    await expect.poll(countRenderProcesses).toBe(processes)
    await Promise.all(started.map(({ body }) => bounded.send(`/v1/jobs/${body.job_id}/cancel`, { method: 'POST' })))
  },
)
