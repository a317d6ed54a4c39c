// A quote is a promise that outlives the process that made it and the price it was made at (P8, P12).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mediagen-restart-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const input = { prompt: 'x' }

/** A server on the shared data directory whose only model of its own costs `credits`. */
function startWithPrice(credits: number) {
  const catalog = join(folder, 'catalog.yaml')
  writeFileSync(
    catalog,
    `models:
  - id: shop/paint
    name: Paint
    description: Paints.
    category: text-to-image
    modality: image
    owned_by: shop
    created: 2026-11-01
    price: { credits: ${credits} }
    engine: { kind: command, run: ["true"] }
    input: { type: object, properties: { prompt: { type: string } } }
`,
  )
  const settings = { MEDIAGEN_DATA_DIR: join(folder, 'data'), MEDIAGEN_CATALOG: catalog, MEDIAGEN_ROLES: 'api' }
  return startTestApp(settings)
}

test('a quote made before a restart and a change of price is honoured at the price it promised', async () => {
  const first = await startWithPrice(5)
  const { account } = first
  const { quote_id, credits } = await first.quote('shop/paint', input)
  expect(credits).toBe(5)
  await first[Symbol.asyncDispose]()

  await using second = await startWithPrice(50)
  expect((await second.quote('shop/paint', input, account)).credits).toBe(50)
  const { status, body } = await second.send('/v1/generate', {
    key: account.key,
    headers: { 'idempotency-key': 'one' },
    body: { model: 'shop/paint', input, quote_id },
  })
  expect(status).toBe(202)
  expect(body).toMatchObject({ credits: 5, billing: { quoted: 5, held: 5 } })
  expect((await second.send('/v1/wallet', { key: account.key })).body).toEqual({ available: 995, held: 5 })
})
