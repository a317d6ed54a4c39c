// The gRPC port handles calls that arrive together in one batch.
import { expect, test } from 'vitest'
import { watchChannels } from '../channel-steps.ts'
import { startTestApp } from '../test-app.ts'
import { openRawClient, toFrame } from './raw-grpc.ts'

const connections = 8

// When Node has read the head of a call, and when its answer begins.
const channels = { 'http2.server.stream.start': 'read', 'http2.server.stream.finish': 'answered' }

test('calls that arrive together are all read before the first is handled', async () => {
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
  using stack = new DisposableStack()
  const clients = await Promise.all(
    Array.from({ length: connections }, async () => stack.use(await openRawClient(app.app.grpcUrl, app.account.key))),
  )
  const ask = () =>
    Promise.all(
      clients.map((client) => client.call('CatalogService/ListModels', { body: toFrame(Buffer.alloc(0)) }).ended),
    )
  // The connections are open and the key is known.
  await ask()
  using watched = watchChannels(channels)
  for (const answer of await ask()) expect(answer).toMatchObject({ status: 0 })
  expect(watched.steps).toEqual([
    ...Array<string>(connections).fill('read'),
    ...Array<string>(connections).fill('answered'),
  ])
})
