// Programs that misbehave in every way we could think of: the job ends with a code and words, nothing is charged or left behind, and the next job runs.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import {
  expectWhole,
  listGroup,
  listWork,
  makeFolder,
  modelOf,
  mountDisk,
  type Program,
  price,
  whyNoMounts,
  writeCatalog,
} from './fixture.ts'

const maxOutputBytes = 1_048_576
const fine = { name: 'fine', script: 'cp "$0" out.png' }
const note = 'echo $$ > "$1/group"'

/** A program that must not succeed, and how its job is to end. */
interface Fault extends Program {
  readonly promise: string
  readonly code: string
  readonly words: RegExp
}

const faults: readonly Fault[] = [
  {
    promise: 'a program that hangs is ended with all that it started',
    name: 'hang',
    script: `${note}; sleep 300 & (sleep 300 & sleep 300) & sleep 300`,
    timeoutSeconds: 0.5,
    code: 'timeout',
    words: /longer than 0\.5 s/,
  },
  {
    promise: 'a program that hangs and ignores SIGTERM is ended all the same',
    name: 'deaf-hang',
    script: `trap '' TERM; ${note}; while :; do sleep 300; done`,
    timeoutSeconds: 0.5,
    code: 'timeout',
    words: /longer than 0\.5 s/,
  },
  {
    promise: 'a program that floods both of its outputs is ended like any other',
    name: 'brief-flood',
    script: `${note}; yes out & yes err >&2 & wait`,
    timeoutSeconds: 0.5,
    code: 'timeout',
    words: /longer than 0\.5 s/,
  },
  {
    promise: 'grandchildren that outlive a program that failed are ended with it',
    name: 'forks',
    script: `${note}; for i in 1 2 3 4 5; do (trap '' TERM HUP; sleep 300 & sleep 300) & done; echo "the forks are out" >&2; exit 3`,
    code: 'program_failed',
    words: /exit code 3/,
  },
  {
    promise: 'a daemon that left the group and holds the output open does not keep the job waiting',
    name: 'daemon',
    script: `${note}; setsid sleep 6 & echo "gone without it" >&2; exit 3`,
    code: 'program_failed',
    words: /exit code 3/,
  },
  {
    promise: 'a program that writes without end is ended once it exceeds the limit',
    name: 'writes',
    script: `${note}; while :; do head -c 200000 /dev/zero >> out.png; sleep 0.02; done`,
    code: 'output_too_large',
    words: /more than 1048576 bytes/,
  },
  {
    promise: 'what is hidden in folders counts as well',
    name: 'hides',
    script: `${note}; mkdir -p .a/b; while :; do i=$((i+1)); head -c 100000 /dev/zero > .a/b/$i; sleep 0.02; done`,
    code: 'output_too_large',
    words: /more than 1048576 bytes/,
  },
  {
    promise: 'success without an output is no success',
    name: 'nothing',
    script: 'exit 0',
    code: 'no_output',
    words: /left no output/,
  },
  {
    promise: 'a truncated picture is no output',
    name: 'truncated',
    script: 'size=$(wc -c < "$0"); head -c $((size * 2 / 3)) "$0" > out.png',
    code: 'output_invalid',
    words: /damaged picture \(png\)/,
  },
  {
    promise: 'a text that is called a picture is no output',
    name: 'text',
    script: 'echo "a picture, on my word" > out.png',
    code: 'output_invalid',
    words: /unknown type/,
  },
  {
    promise: 'SVG is not served',
    name: 'svg',
    script: `echo '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>' > out.svg`,
    code: 'output_invalid',
    words: /out\.svg is/,
  },
  {
    promise: 'HTML is not served, whatever it is called',
    name: 'html',
    script: `echo '<!doctype html><script>alert(1)</script>' > out.png`,
    code: 'output_invalid',
    words: /unknown type/,
  },
  {
    promise: 'one bad output among good ones fails the job, and none is kept',
    name: 'one-bad',
    script: 'cp "$0" 1.png; cp "$0" 2.png; head -c 60 "$0" > 3.png',
    code: 'output_invalid',
    words: /3\.png is a damaged picture/,
  },
  {
    promise: 'a link is no output',
    name: 'link',
    script: 'ln -s /etc/passwd out.png',
    code: 'output_invalid',
    words: /symbolic link/,
  },
  {
    promise: 'a program that puts a link to a folder of someone else in the place of its own gets nothing from there',
    name: 'swap',
    script: 'own=$PWD; cd /; rm -r "$own"; ln -s "$1/foreign" "$own"',
    code: 'output_invalid',
    words: /replaced its working folder/,
  },
  {
    promise: 'nor one that does so with the folder above',
    name: 'swap-above',
    script: 'above=${PWD%/*}; cd /; rm -r "$above"; ln -s "$1/foreign" "$above"',
    code: 'output_invalid',
    words: /folder of the outputs was replaced/,
  },
  {
    promise: 'a named pipe is no output, and nobody waits for who writes to it',
    name: 'pipe',
    script: 'mkfifo out.png',
    code: 'output_invalid',
    words: /out\.png is a named pipe/,
  },
  {
    promise: 'a socket is no output',
    name: 'socket',
    script: `node -e 'require("net").createServer().listen("out.png", () => process.kill(process.pid, 9))'; exit 0`,
    code: 'output_invalid',
    words: /out\.png is a socket/,
  },
  {
    promise: 'a program that is ended by a signal says which',
    name: 'signal',
    script: 'kill -SEGV $$',
    code: 'program_failed',
    words: /signal SIGSEGV/,
  },
  {
    promise: 'a program that cannot be started fails the job',
    name: 'unstartable',
    script: '',
    code: 'program_not_started',
    words: /could not be started \(ENOENT\)/,
  },
]

const flood = { name: 'flood', script: `${note}; yes out & yes err >&2 & wait`, timeoutSeconds: 600 }
const outspoken = {
  name: 'outspoken',
  script: `printf '{"checkpoint":"'; head -c 5000000 /dev/zero | tr '\\0' x; printf '"}\\n'; cp "$0" out.png`,
}
const deaf = {
  name: 'deaf',
  script: `trap '' TERM INT HUP; ${note}; echo '{"progress":0.5}'; while :; do sleep 300 & wait; done`,
}
const heir = { name: 'heir', script: `${note}; sleep 300 & cp "$0" out.png` }
const fills = { name: 'fills', script: 'head -c 500000 /dev/zero > out.png' }

const folder = makeFolder()
const group = join(folder.path, 'group')
// What is not the program's to hand out: a picture that would be served, and one where the outputs would be.
const foreign = ['foreign/secret.png', 'foreign/outputs/secret.png'].map((name) => join(folder.path, name))
mkdirSync(join(folder.path, 'foreign/outputs'), { recursive: true })
for (const path of foreign) copyFileSync(join(import.meta.dirname, '../models/picture.png'), path)
const unstartable = join(folder.path, 'unstartable')
writeFileSync(unstartable, '#!/no/such/interpreter\n')
chmodSync(unstartable, 0o755)
const catalog = writeCatalog(folder.path, [
  fine,
  flood,
  outspoken,
  deaf,
  heir,
  fills,
  ...faults.map((fault) => (fault.name === 'unstartable' ? { ...fault, run: [unstartable] } : fault)),
])
const settings = { MEDIAGEN_CATALOG: catalog, MEDIAGEN_MAX_OUTPUT_BYTES: String(maxOutputBytes) }
const app = await startTestApp(settings)
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const groupOf = (): number => Number(readFileSync(group, 'utf8'))

/** Holds that nothing is left of the program that noted its group, or will be when it has had its time to end. */
async function expectGroupGone(): Promise<void> {
  expect(groupOf()).toBeGreaterThan(0)
  await expect.poll(() => listGroup(groupOf())).toEqual([])
}

const available = async (): Promise<number> => (await app.send('/v1/wallet')).body.available

async function expectNextRuns(): Promise<void> {
  const before = await available()
  expect((await app.generate(modelOf('fine'), {})).body).toMatchObject({ status: 'succeeded' })
  await expectWhole(app)
  expect(await available()).toBe(before - price)
}

test.each(faults)('$promise: $code', async ({ name, script, code, words }) => {
  const before = await available()
  const { body } = await app.generate(modelOf(name), {})
  expect(body).toMatchObject({
    status: 'failed',
    error: { code, message: expect.stringMatching(words) },
    billing: { held: price, charged: 0, released: price },
  })
  expect(body.outputs).toEqual([])
  expect(foreign.filter((path) => !existsSync(path))).toEqual([])
  if (script.includes(note) && code === 'timeout') await expectGroupGone()
  // What ended by itself was waited for, with all that it had started.
  else if (script.includes(note)) expect(listGroup(groupOf())).toEqual([])
  await expectWhole(app)
  expect(await available()).toBe(before)
  expect(existsSync(join(app.config.dataDir, 'assets', body.job_id)) ? 'outputs are left' : '').toBe('')
  await expectNextRuns()
})

test('a program that floods both of its outputs does not delay others', async () => {
  rmSync(group, { force: true })
  const { body: flooding } = await app.generate(modelOf('flood'), {}, { wait: false })
  const path = `/v1/jobs/${flooding.job_id}`
  await expect.poll(() => existsSync(group)).toBe(true)
  // All of this goes on beside the flood: another job from quote to output, and a hundred requests.
  expect((await app.generate(modelOf('fine'), {})).body).toMatchObject({ status: 'succeeded' })
  for (let request = 0; request < 100; request++) expect((await app.send('/healthz', { key: null })).status).toBe(200)
  expect((await app.send(path)).body.status).toBe('running')
  await app.send(`${path}/cancel`, { method: 'POST' })
  await app.send(`${path}/events`)
  expect((await app.send(path)).body).toMatchObject({ status: 'canceled', billing: { charged: 0, released: price } })
  await expectGroupGone()
  await expectNextRuns()
})

test('a checkpoint of five megabytes is ignored, and the job goes on', async () => {
  expect((await app.generate(modelOf('outspoken'), {})).body).toMatchObject({ status: 'succeeded' })
  await expectNextRuns()
})

test('children that outlive a program that succeeded can touch its output no more', async () => {
  expect((await app.generate(modelOf('heir'), {})).body).toMatchObject({ status: 'succeeded' })
  expect(listGroup(groupOf())).toEqual([])
  await expectNextRuns()
})

test('a program that ignores SIGTERM is canceled, and gone later', async () => {
  const before = await available()
  const { body: started } = await app.generate(modelOf('deaf'), {}, { wait: false })
  const path = `/v1/jobs/${started.job_id}`
  await expect.poll(async () => (await app.send(path)).body.progress).toBe(0.5)
  expect((await app.send(`${path}/cancel`, { method: 'POST' })).status).toBeLessThan(300)
  // The events of a job end with it.
  await app.send(`${path}/events`)
  expect((await app.send(path)).body).toMatchObject({
    status: 'canceled',
    error: { message: expect.stringMatching(/\w+ \w+/) },
    billing: { charged: 0, released: price },
  })
  await expectGroupGone()
  expect(await available()).toBe(before)
  await expectNextRuns()
})

const noMounts = whyNoMounts()

test.skipIf(noMounts !== '')(
  `a work disk that is full or read-only fails the job, and the next one runs when there is room again${noMounts}`,
  async () => {
    using data = makeFolder()
    const work = join(data.path, 'work')
    using disk = mountDisk(work, '256k')
    await using own = await startTestApp({ ...settings, MEDIAGEN_DATA_DIR: data.path })
    const full = (await own.generate(modelOf('fills'), {})).body
    expect(full).toMatchObject({
      status: 'failed',
      error: { code: 'program_failed', message: expect.stringMatching(/exit code/) },
      billing: { charged: 0, released: price },
    })
    await expectWhole(own)
    disk.remount('ro')
    const refused = (await own.generate(modelOf('fine'), {})).body
    expect(refused).toMatchObject({
      status: 'failed',
      error: { code: 'engine_crashed', message: expect.stringMatching(/\w+ \w+/) },
      billing: { charged: 0, released: price },
    })
    disk.remount('rw')
    expect((await own.generate(modelOf('fine'), {})).body).toMatchObject({ status: 'succeeded' })
    await expectWhole(own)
    expect(listWork(own)).toEqual([])
  },
)
