// Requests through the agent for public addresses. The first request loads undici: its hundred modules would slow down the
// start of a server.
import { onFirstUse } from '@mediagen/engine/first-use.ts'
import type { Dispatcher } from 'undici'
import { listen, type Listener, type ListenRequest, maxMessageBytes } from './listener.ts'
import { createNameResolver } from './name-resolver.ts'
import type { PublicAgentOptions } from './public-agent.ts'

/** Settings of a client; a test may resolve names itself. */
export type PublicClientOptions = Omit<PublicAgentOptions, 'resolve'> & Partial<Pick<PublicAgentOptions, 'resolve'>>

/** Sends requests to public addresses and to allowed ones. */
export interface PublicClient {
  /** Undici's `request`. @throws PrivateAddressError, and whatever undici throws */
  request(
    url: string | URL,
    options: Omit<Dispatcher.RequestOptions, 'origin' | 'path'>,
  ): Promise<Dispatcher.ResponseData>
  /** Listens to a WebSocket, on a connection of its own. */
  listen(url: URL, request: ListenRequest): Listener
  /** Aborts running requests and closes every connection. */
  destroy(): Promise<void>
}

/** Creates a client; nothing is loaded or opened before its first request. */
export function createPublicClient(options: PublicClientOptions): PublicClient {
  const names = createNameResolver(options)
  let latest: ReturnType<typeof open> | undefined
  const open = onFirstUse(async () => {
    const [{ request, WebSocket }, { createPublicAgent }] = await Promise.all([
      import('undici'),
      import('./public-agent.ts'),
    ])
    const createAgent = (more?: Partial<PublicAgentOptions>) =>
      createPublicAgent({ resolve: names.resolve, ...options, ...more })
    return { request, WebSocket, createAgent, agent: createAgent() }
  })
  const use = (): ReturnType<typeof open> => (latest = open())

  return {
    async request(url, options) {
      const { request, agent } = await use()
      return request(url, { ...options, dispatcher: agent })
    },
    listen: (url, request) =>
      listen(url, request, async (onConnect) => {
        const { WebSocket, createAgent } = await use()
        return { WebSocket, agent: createAgent({ onConnect, maxMessageBytes }) }
      }),
    async destroy() {
      const { agent } = (await latest?.catch(() => undefined)) ?? {}
      await agent?.destroy()
      names.cancel()
    },
  }
}
