#!/usr/bin/env node
// Plain JavaScript, so that an old Node can still say what is wrong. Everything else begins in src/main.ts.
import * as nodeModule from 'node:module'

const needed = 24
const major = Number(process.versions.node.split('.')[0])
if (major < needed) {
  process.stderr.write(
    `mediagen needs Node ${needed} or newer, and this is Node ${process.versions.node}. Run it through npm, which brings its own: npm start, or npm run mediagen -- <command>.\n`,
  )
  process.exit(1)
}
// Stripping the types of the console's files is still called experimental; that is no news for who runs a server.
process.removeAllListeners('warning')
process.on('warning', (warning) => {
  if (warning.name !== 'ExperimentalWarning') process.stderr.write(`${warning.stack ?? warning.message}\n`)
})
// Code that was compiled once is kept, so that commands begin in half the time. Threads and forked processes hear of it by the variable.
const cache = nodeModule.enableCompileCache?.()
if (cache?.directory) process.env.NODE_COMPILE_CACHE ??= cache.directory
const { main } = await import('../src/main.ts')
await main(process.argv)
