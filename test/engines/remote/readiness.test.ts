// How many questions it takes to know whether the models of a provider are ready.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createRemoteEngines, type RemoteEngineDeps } from '../../../src/engines/remote/remote-engine.ts'
import { createSecrets } from '../../../src/engines/secrets.ts'

const count = 50

test.each([
  ['openai', { task: 'image' }, 1],
  ['cog', {}, 1],
  // Which models there are, only Replicate knows.
  ['replicate', {}, count],
])(
  '%s is asked once about all models of a provider, if the answer is the same for all',
  async (kind, spec, questions) => {
    let asked = 0
    await using provider = createServer((_, response) => {
      asked += 1
      response.setHeader('content-type', 'application/json')
      response.end('{"status":"READY"}')
    }).listen(0, '127.0.0.1')
    await once(provider, 'listening')
    const { port } = provider.address() as AddressInfo
    const deps = { secrets: createSecrets({}), maxAnswerBytes: 100_000, nowMs: () => 0 } as RemoteEngineDeps
    const engine = createRemoteEngines(deps).find((one) => one.kind === kind)
    if (!engine) throw new Error(`no engine ${kind}`)
    const base_url = `http://127.0.0.1:${port}`
    const models = Array.from({ length: count }, (_, i) => ({
      ...spec,
      kind,
      model: `owner/m${i}`,
      base_folder: '/',
      provider: { name: 'mine', kind, base_url },
    }))
    const reasons = await Promise.all(models.map((model) => engine.unready(model)))
    expect(new Set(reasons)).toEqual(new Set([null]))
    expect(asked).toBe(questions)
    await engine.close()
  },
)
