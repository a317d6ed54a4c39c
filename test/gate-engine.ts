// The engine of test/gate in servers of this process: a run reports half, says in a file beside its gate that it has begun, and
// leaves a picture when the file that the input names is there.
import { copyFileSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Engine } from '@mediagen/engine/engine.ts'

const picture = join(import.meta.dirname, 'models/picture.png')

/** Creates the engine; its kind is `gate`. */
export function createGateEngine(): Engine {
  return {
    kind: 'gate',
    schema: {},
    waits: () => false,
    unready: async () => null,
    afterLoss: () => 'again',
    async run(_spec, { input, signal, onProgress, folder }) {
      const gate = String(input['gate'])
      onProgress(0.5)
      writeFileSync(`${gate}.begun`, '')
      while (!existsSync(gate)) await setTimeout(10, undefined, { signal })
      copyFileSync(picture, join(await folder(), 'out.png'))
      return { files: ['out.png'], usage: {} }
    },
    close: async () => {},
  }
}
