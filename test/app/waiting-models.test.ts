// Nothing is silent: a server says at its start which models wait for what, a line for each provider (P344).
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describeWaiting } from '../../src/app/observe/waiting-models.ts'
import { testCatalog } from '../cli/command-line.ts'
import { keepLog } from '../kept-log.ts'
import { startTestApp } from '../test-app.ts'

const shipped = ['fal', 'openai'].map((name) => join(import.meta.dirname, `../../catalogs/${name}.yaml`))
const lineOf = (provider: string) => expect.stringMatching(new RegExp(`^${provider}: `))

test('P344: a provider without its key has a line that counts its models and names the variable', async () => {
  const { log, lines } = keepLog()
  const settings = { MEDIAGEN_ROLES: 'api', MEDIAGEN_CATALOG: [testCatalog, ...shipped].join(':') }
  await using app = await startTestApp(settings, { log })
  const { waiting } = app.app
  expect(waiting).toEqual([lineOf('command'), lineOf('fal'), lineOf('openai')])
  expect(waiting[0]).toMatch(/^command: 1 model waits: .*no-such-program-anywhere/)
  expect(waiting[1]).toMatch(/^fal: \d+ models wait for FAL_KEY$/)
  const said = lines.filter(({ level }) => level === 30).map(({ msg }) => msg)
  expect(said).toEqual(expect.arrayContaining([...waiting]))
})

test('reasons of one provider share its line', () => {
  const models = ['a', 'b', 'c'].map((id) => ({
    id,
    shutdownDate: null,
    replacedBy: null,
    engine: { kind: 'cog', provider: { name: 'gpu' } },
  }))
  const reasons = new Map([
    ['a', 'it is off'],
    ['b', 'it is off'],
    ['c', null],
  ])
  const find = (id: string) => reasons.get(id) ?? null
  const catalog = { models, unready: ({ id }: { id: string }) => find(id) } as never
  expect(describeWaiting(catalog, 0)).toEqual(['gpu: 2 models wait: it is off'])
})
