// The engine of test/gate in servers of this process: a run reports half, says in a file beside its gate that it has begun, and ends
// without an output when the file that the input names is there.
import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import type { Engine } from '@mediagen/engine/engine.ts'

/** Creates the engine; its kind is `gate`. */
export function createGateEngine(): Engine {
  return {
    kind: 'gate',
    schema: {},
    waits: () => false,
    unready: async () => null,
    afterLoss: () => 'again',
    async run(_spec, { input, signal, onProgress }) {
      const gate = String(input['gate'])
      onProgress(0.5)
      writeFileSync(`${gate}.begun`, '')
      while (!existsSync(gate)) await setTimeout(10, undefined, { signal })
      return { files: [], usage: {} }
    },
    close: async () => {},
  }
}
