// Names of services that nobody serves: a stranger may watch any, and the server must not keep them.
import { HealthImplementation } from 'grpc-health-check'
import { expect, test, vi } from 'vitest'
import { QuotesService } from '../../gen/mediagen/v1/quotes_pb.ts'
import { startTestApp } from '../test-app.ts'
import { openRawClient, toField, toFrame } from './raw-grpc.ts'

test('all names that are not served are one to the library, and are told to be unknown', async () => {
  const watchers = vi.spyOn(
    HealthImplementation.prototype as unknown as { addWatcher(name: string): void },
    'addWatcher',
  )
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
  using client = await openRawClient(app.app.grpcUrl)
  const watch = async (name: string): Promise<Buffer> => {
    const { stream } = client.call('/grpc.health.v1.Health/Watch', { body: toFrame(toField(1, name)) })
    return await new Promise((resolve) => stream.once('data', resolve))
  }
  // Field 1 is the status, 3 is SERVICE_UNKNOWN, 1 is SERVING.
  for (const [name, status] of [
    ['a', 3],
    ['b', 3],
    [QuotesService.typeName, 1],
  ] as const)
    expect(await watch(name)).toEqual(toFrame(Buffer.from([8, status])))
  expect(watchers.mock.calls.map(([name]) => name)).toEqual(['unknown', 'unknown', QuotesService.typeName])
  watchers.mockRestore()
})
