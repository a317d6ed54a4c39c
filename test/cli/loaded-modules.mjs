// Preloaded into a server by loaded-modules.test.ts: writes which modules it has loaded to a file when it ends.
import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  const loaded = []
  registerHooks({
    load(url, context, next) {
      loaded.push(url)
      return next(url, context)
    },
  })
  process.on('exit', () =>
    writeFileSync(process.env.LOADED_MODULES, JSON.stringify([...loaded, ...process.moduleLoadList])),
  )
}
