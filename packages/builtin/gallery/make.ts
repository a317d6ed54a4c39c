// npm run gallery: every model that ships, with every choice that it offers, made by the engine and shown on one page.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { completeInput, entries as models, type Entry } from '../catalog/entries.ts'
import { createBuiltinEngine } from '../src/engine.ts'
import { type Card, type Section, writePage } from './page.ts'
import { type Sample, sampleModel } from './samples.ts'
import { digestSources } from './sources.ts'
import { findMade, keyOf, type Made, makeWork, removeOthers, type Work } from './work.ts'

const help = `npm run gallery -- [--jobs N] [--anew] [words]

Makes every model that ships with every choice that it offers, and gallery/out/index.html to look at them.
What is there and would come out the same is kept: a run that is stopped goes on when it is started again.
The first run takes about six and a half minutes of processor time, shared by the cores that are free;
later ones take as long as what has changed.

  words     make only models whose ids have one of these words in them; the page shows the others as they are
  --jobs N  so many renders at the same time; default: one a core
  --anew    keep nothing
  --help    print this`

// Pictures for the models that take some; the last one, small, for the one that makes them larger.
const inputs = [
  { prompt: 'a quiet city', style: 'blocks', palette: 'orchard', width: 1280, height: 720 },
  { prompt: 'mountains at sunrise', style: 'ridges', palette: 'sunset', width: 1280, height: 720 },
  { prompt: 'forest in autumn', style: 'forest', palette: 'autumn', width: 1280, height: 720 },
  { prompt: 'a quiet city', style: 'blocks', palette: 'orchard', width: 480, height: 270 },
]
const out = join(import.meta.dirname, 'out')
const folder = join(out, 'files')
const renderers = join(import.meta.dirname, '../src')
const page = join(out, 'index.html')

await main()

async function main(): Promise<void> {
  const { values, positionals: words } = parseArgs({
    options: { jobs: { type: 'string' }, anew: { type: 'boolean' }, help: { type: 'boolean' } },
    allowPositionals: true,
  })
  if (values.help) return console.log(help)
  const jobs = Number(values.jobs ?? availableParallelism())
  if (!Number.isInteger(jobs) || jobs < 1) return refuse(`--jobs is a whole number from 1, not ${values.jobs}`)
  const isChosen = ({ id }: Entry): boolean => words.length === 0 || words.some((word) => id.includes(word))
  if (!models.some(isChosen))
    return refuse(`no model has ${words.join(' or ')} in its id; there are\n${models.map(({ id }) => id).join('\n')}`)

  const startedMs = performance.now()
  if (values.anew) rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const engine = createBuiltinEngine({ poolSize: jobs })
  const pictures = planPictures(models)
  for (const work of pictures) if (!findMade(folder, work.key)) await makeWork(engine, folder, work)
  const given = pictures.map(readDataUri)
  const works = models.flatMap((model) =>
    planModel(model, model.engine['renderer'] === 'upscale' ? given.slice(-1) : given.slice(0, -1)),
  )
  if (words.length === 0) removeOthers(folder, new Set([...pictures, ...works].map(({ key }) => key)))
  const failures = await makeAll(
    works.filter(({ model }) => isChosen(model)),
    jobs,
    (work) => makeWork(engine, folder, work),
    (failed) => writeFileSync(page, writePage(toSections(models, works, failed), summarize(works, failed))),
  )
  await engine.close()
  const seconds = (performance.now() - startedMs) / 1000
  console.log(`${summarize(works, failures)}\n${seconds.toFixed(0)} s: ${page}`)
  if (failures.size > 0) process.exitCode = 1
}

function refuse(why: string): void {
  console.error(`${why}\n\n${help}`)
  process.exitCode = 2
}

/** Pictures for the models that take some. */
function planPictures(models: readonly Entry[]): Work[] {
  const art = models.find(({ id }) => id === 'builtin/image/art/text-to-image')
  if (!art) return []
  const sources = digestModel(art)
  return inputs.map((input) => planWork(art, sources, { group: '', title: input.prompt, input: { ...input, seed: 7 } }))
}

function readDataUri({ key }: Work): string {
  const file = join(folder, findMade(folder, key)?.file ?? '')
  return `data:image/png;base64,${readFileSync(file).toString('base64')}`
}

function planModel(model: Entry, pictures: readonly string[]): Work[] {
  const sources = digestModel(model)
  return sampleModel(model, pictures).map((sample) => planWork(model, sources, sample))
}

function planWork(model: Entry, sources: string, { group, title, input: given }: Sample): Work {
  const input = completeInput(model, given)
  return { model, group, title, input, key: keyOf(model, input, sources) }
}

/** Changes with the code that makes what the model makes. */
function digestModel({ engine }: Entry): string {
  const renderer = String(engine['renderer'])
  return digestSources(join(renderers, renderer, `${renderer}.ts`))
}

/** Makes the missing samples, several at a time, and prints progress; resolves to the reasons of failures, by key. */
async function makeAll(
  works: readonly Work[],
  jobs: number,
  make: (work: Work) => Promise<Made>,
  onChange: (failures: ReadonlyMap<string, string>) => void,
): Promise<ReadonlyMap<string, string>> {
  const missing = works.filter(({ key }) => !findMade(folder, key))
  console.log(`${works.length} samples: ${works.length - missing.length} are there, ${missing.length} to make`)
  const failures = new Map<string, string>()
  onChange(failures)
  const queue = missing.entries()
  let done = 0
  const work = async (): Promise<void> => {
    for (const [, next] of queue) {
      let note = ''
      try {
        const made = await make(next)
        note = `${made.seconds.toFixed(1)} s, ${describe(made)}`
      } catch (error) {
        note = (error as Error).message.split('\n')[0] ?? ''
        failures.set(next.key, note)
      }
      const what = [next.model.id, next.group, next.title].filter(Boolean).join(' ')
      console.log(`${++done}/${missing.length}  ${what}: ${note}`)
      onChange(failures)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  return failures
}

function toSections(
  models: readonly Entry[],
  works: readonly Work[],
  failures: ReadonlyMap<string, string>,
): readonly Section[] {
  return models.map((model) => {
    const own = Map.groupBy(
      works.filter((work) => work.model === model),
      ({ group }) => group,
    )
    const groups = [...own].map(([name, members]) => ({ name, cards: members.map((work) => toCard(work, failures)) }))
    return { id: model.id, name: model.name, description: model.description, groups }
  })
}

function toCard({ key, title }: Work, failures: ReadonlyMap<string, string>): Card {
  const made = findMade(folder, key)
  const inFiles = (name: string): string => `files/${name}`
  if (made) {
    const drawing = made.drawing === null ? null : inFiles(made.drawing)
    return { title, file: inFiles(made.file), drawing, note: describe(made), failed: false }
  }
  const failure = failures.get(key)
  return { title, file: null, drawing: null, note: failure ?? 'not made yet', failed: failure !== undefined }
}

function describe({ bytes }: Made): string {
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
}

function summarize(works: readonly Work[], failures: ReadonlyMap<string, string>): string {
  const made = works.flatMap(({ key }) => findMade(folder, key) ?? [])
  const megabytes = made.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6
  const [all, there] = [works.length, made.length]
  const state = failures.size > 0 ? `, ${failures.size} failed` : ''
  return `${there} of ${all} samples${state}; ${megabytes.toFixed(0)} MB`
}
