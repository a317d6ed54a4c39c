// Notes the order of what Node and Fastify publish on diagnostics channels.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'

/** Notes a step for each message on a channel, until it is disposed of. @param names the step of each channel */
export function watchChannels(names: Readonly<Record<string, string>>): Disposable & { readonly steps: string[] } {
  const steps: string[] = []
  const watches = Object.entries(names).map(([channel, step]) => ({ channel, note: () => void steps.push(step) }))
  for (const { channel, note } of watches) subscribe(channel, note)
  return {
    steps,
    [Symbol.dispose]() {
      for (const { channel, note } of watches) unsubscribe(channel, note)
    },
  }
}
