// npm run gallery: every model that ships, with every choice that it offers, made by the engine and shown on one page.
// npm run gallery -- music speech: only the models whose ids have one of these words in them.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { builtinCatalog, loadCatalog } from '../src/catalog/load.ts'
import type { JsonObject } from '../src/core/engine.ts'
import type { Model } from '../src/core/model.ts'
import { createBuiltinEngine } from '../src/engines/builtin/engine.ts'
import { sampleModel } from './samples.ts'
import { drawSound } from './sound-picture.ts'

const folder = join(import.meta.dirname, 'out')
const ticksPerSecond = 100
const subjects = ['mountains at sunrise', 'a quiet ocean by night', 'forest in autumn']

interface Made {
  readonly file: string
  readonly wallSeconds: number
  /** CPU time of the render process; null where the system does not tell. */
  readonly cpuSeconds: number | null
  readonly credits: number
}

const engine = createBuiltinEngine({ poolSize: 1, warmUpAfterMs: null })
const words = process.argv.slice(2)
const models = loadCatalog(builtinCatalog)
const shown = models.filter(({ id }) => words.length === 0 || words.some((word) => id.includes(word)))

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const pictures = await makePictures()
const sections: string[] = []
for (const model of shown) sections.push(await showModel(model))
writeFileSync(join(folder, 'index.html'), page(sections))
await engine.close()
console.log(join(folder, 'index.html'))

/** Pictures for the models that take some. */
async function makePictures(): Promise<string[]> {
  const art = models.find(({ id }) => id === 'builtin/image/art/text-to-image')
  if (!art) return []
  const made = []
  for (const prompt of subjects) {
    const { file } = await make(art, { prompt, width: 1280, height: 720, format: 'png' }, `input-${made.length}`)
    made.push(`data:image/png;base64,${readFileSync(file).toString('base64')}`)
  }
  return made
}

async function showModel(model: Model): Promise<string> {
  const cards: string[] = []
  for (const [i, { title, input }] of sampleModel(model, pictures).entries()) {
    const name = `${model.id.replaceAll('/', '-')}-${i + 1}`
    try {
      const made = await make(model, input, name)
      cards.push(card(title, await display(made.file), describe(made)))
      console.log(`${model.id}  ${title}  ${describe(made)}`)
    } catch (error) {
      cards.push(card(title, '', `<b>${escape((error as Error).message)}</b>`))
      console.error(`${model.id}  ${title}  ${(error as Error).message}`)
      process.exitCode = 1
    }
  }
  return `<section><h2>${escape(model.name)} <small>${model.id}</small></h2><p>${escape(model.description)}</p>
<div class="cards">${cards.join('\n')}</div></section>`
}

async function make(model: Model, input: JsonObject, name: string): Promise<Made> {
  const checked = model.checkInput(input)
  if (!checked.ok) throw new Error(JSON.stringify(checked.violations))
  const run = join(folder, name)
  mkdirSync(run)
  const [startedMs, startedCpu] = [performance.now(), childCpuSeconds()]
  await engine.run(model.engine, {
    jobId: name,
    model: model.id,
    attempt: 1,
    input: checked.input,
    media: writeMedia(model, checked.input, name),
    checkpoint: null,
    folder: run,
    signal: new AbortController().signal,
    onProgress: () => {},
    onCheckpoint: () => {},
  })
  const [wallSeconds, cpu] = [(performance.now() - startedMs) / 1000, childCpuSeconds()]
  const cpuSeconds = cpu === null || startedCpu === null ? null : cpu - startedCpu
  const [output = ''] = readdirSync(run)
  return { file: join(run, output), wallSeconds, cpuSeconds, credits: model.quotedPrice(checked.input) }
}

/** Leaves the data: URIs of an input as files, as the server would. */
function writeMedia(model: Model, input: JsonObject, name: string): Map<string, string> {
  const files = new Map<string, string>()
  for (const { pointer, reference } of model.mediaOf(input)) {
    const file = join(folder, `${name}${pointer.replaceAll('/', '-')}.png`)
    writeFileSync(file, Buffer.from(reference.slice(reference.indexOf(',') + 1), 'base64'))
    files.set(pointer, file)
  }
  return files
}

/** CPU time of the processes that this one has forked, as Linux counts it. */
function childCpuSeconds(): number | null {
  try {
    const pids = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
    return pids.reduce((sum, pid) => {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return sum + (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
    }, 0)
  } catch {
    return null
  }
}

async function display(file: string): Promise<string> {
  const bytes = readFileSync(file)
  const source = `${basename(join(file, '..'))}/${basename(file)}`
  switch (extname(file)) {
    case '.mp4':
    case '.webm':
      return `<video controls loop muted preload="metadata" src="${source}"></video>`
    case '.wav':
      return `${image('png', await drawSound(bytes))}<audio controls preload="none" src="${source}"></audio>`
    default:
      return image(extname(file).slice(1), bytes)
  }
}

function image(type: string, bytes: Buffer): string {
  return `<img loading="lazy" alt="" src="data:image/${type};base64,${bytes.toString('base64')}">`
}

function describe({ wallSeconds, cpuSeconds, credits }: Made): string {
  const cpu = cpuSeconds === null ? '' : `, ${cpuSeconds.toFixed(1)} s of CPU`
  return `${wallSeconds.toFixed(1)} s${cpu}, ${credits} ${credits === 1 ? 'credit' : 'credits'}`
}

function card(title: string, media: string, note: string): string {
  return `<figure>${media}<figcaption><b>${escape(title)}</b><br>${note}</figcaption></figure>`
}

function page(bodies: readonly string[]): string {
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>mediagen: gallery</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color: #222; background: #f6f6f4 }
p { max-width: 60rem }
small { font-weight: normal; color: #777 }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); gap: 1rem }
figure { margin: 0; padding: .6rem; background: #fff; border-radius: .4rem }
img, video, audio { width: 100%; display: block }
</style>
<h1>mediagen: gallery</h1>
${bodies.join('\n')}
</html>
`
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}
