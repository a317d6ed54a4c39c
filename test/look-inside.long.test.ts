// docs/look-inside.md, run as it stands there; and the examples in the comments of requests, read as requests.
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { type DescMessage, fromJson, type JsonValue } from '@bufbuild/protobuf'
import { afterAll, expect, test } from 'vitest'
import { file_mediagen_v1_account } from '../gen/mediagen/v1/account_pb.ts'
import { file_mediagen_v1_admin } from '../gen/mediagen/v1/admin_pb.ts'
import { file_mediagen_v1_catalog } from '../gen/mediagen/v1/catalog_pb.ts'
import { file_mediagen_v1_files } from '../gen/mediagen/v1/files_pb.ts'
import { file_mediagen_v1_generation } from '../gen/mediagen/v1/generation_pb.ts'
import { file_mediagen_v1_quotes } from '../gen/mediagen/v1/quotes_pb.ts'
import { file_mediagen_v1_wallet } from '../gen/mediagen/v1/wallet_pb.ts'
import { file_mediagen_v1_webhooks } from '../gen/mediagen/v1/webhooks_pb.ts'
import { startTestApp, withBuiltin } from './test-app.ts'
import { storeSettings } from './test-store.ts'

const root = resolve(import.meta.dirname, '..')
const app = await startTestApp({}, withBuiltin)
afterAll(() => app[Symbol.asyncDispose]())

test('the commands of the page take one through a quote, a start, a watch, a refusal and an operator’s questions', async () => {
  const page = readFileSync(join(root, 'docs/look-inside.md'), 'utf8')
  const [settings = '', ...blocks] = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text)
  expect(settings).toContain('grpc=http://127.0.0.1:9090')
  // Only the address is not that of the page, and the key that is set stays. A line tells the blocks apart, and one how the last ended.
  const script = [settings, `grpc=${app.app.grpcUrl}`, ...blocks.flatMap((block) => [block, 'echo "=== $?"'])].join(
    '\n',
  )
  const env = {
    ...process.env,
    ...(await storeSettings(app.config.dataDir)),
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
    NO_PROXY: '127.0.0.1',
    MEDIAGEN_KEY: app.account.key,
    MEDIAGEN_DATA_DIR: app.config.dataDir,
  }
  const { stdout } = await promisify(execFile)('sh', ['-c', `exec 2>&1\n${script}`], { cwd: root, env })
  const [, methods, quote, opened, started, watched, refused, , asked, ledger] = stdout.split(/^=== /m)
  expect(methods).toContain('mediagen.v1.GenerationService/WatchJob')
  expect(quote).toMatch(/"credits": "\d+"/)
  expect(opened).toContain('"quoteId": "quote_')
  expect(started).toMatch(/"jobId": "job_/)
  expect(watched).toContain('JOB_STATUS_SUCCEEDED')
  expect(watched).toMatch(/x-request-id/i)
  expect(refused).toMatch(/"message": "job_not_found: /)
  expect(asked).toContain('"maxAttempts"')
  expect(ledger).toMatch(/"entries": "\d+"/)
  // Each block but the refusal ended well.
  expect([...stdout.matchAll(/^=== (\d+)$/gm)].map(([, status]) => status !== '0')).toEqual(
    blocks.map((block) => block.includes('job_none')),
  )
})

test('the comment of each request with fields has an example, which is one', () => {
  const files = [
    file_mediagen_v1_account,
    file_mediagen_v1_admin,
    file_mediagen_v1_catalog,
    file_mediagen_v1_files,
    file_mediagen_v1_generation,
    file_mediagen_v1_quotes,
    file_mediagen_v1_wallet,
    file_mediagen_v1_webhooks,
  ]
  const text = globSync('proto/mediagen/v1/*.proto', { cwd: root }).map((file) =>
    readFileSync(join(root, file), 'utf8'),
  )
  const examples = new Map(
    text.flatMap((one) =>
      [...one.matchAll(/\/\/ Example: `(\{.*\})`\n(?:\/\/ .*\n)*message (\w+) \{/g)].map(
        ([, example = '', name = '']) => [name, example] as const,
      ),
    ),
  )
  const requests = files.flatMap(({ services }) => services).flatMap(({ methods }) => methods.map(({ input }) => input))
  const withFields: DescMessage[] = requests.filter(({ fields }) => fields.length > 0)
  expect(withFields.length).toBeGreaterThan(20)
  expect(withFields.map(({ name }) => name).filter((name) => !examples.has(name))).toEqual([])
  for (const message of withFields) {
    const example = JSON.parse(examples.get(message.name) ?? '') as JsonValue
    expect(Object.keys(example as object).length).toBeGreaterThan(0)
    expect(() => fromJson(message, example)).not.toThrow()
  }
})
