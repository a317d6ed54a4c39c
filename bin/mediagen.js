#!/usr/bin/env node
// Plain JavaScript, so that an old Node can run it: it hands over to the Node that was installed with mediagen, or says what
// is wrong. Everything else begins in src/main.ts.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const needed = 24
const installed = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url))

if (Number(process.versions.node.split('.')[0]) >= needed) await run()
else if (existsSync(installed)) handOver()
else {
  process.stderr.write(
    `mediagen needs Node ${needed} or newer, and this is Node ${process.versions.node}. Install Node ${needed} (https://nodejs.org), or run npm ci in the folder of mediagen, which brings one.\n`,
  )
  process.exitCode = 1
}

async function run() {
  // Code that was compiled once is kept, so that commands begin in half the time. Threads and forked processes learn of it by the
  // variable. Never in a temporary folder: the user who creates it first would choose the code.
  const { enableCompileCache } = await import('node:module')
  const { findCompileCache } = await import('./compile-cache.js')
  const cache = process.env.NODE_COMPILE_CACHE ? null : findCompileCache(fileURLToPath(new URL('..', import.meta.url)))
  if (cache !== null && enableCompileCache(cache).directory) process.env.NODE_COMPILE_CACHE = cache
  const { main } = await import('../src/main.ts')
  await main(process.argv)
}

/** Runs the same command under the other Node, and ends as it does. */
function handOver() {
  const child = spawn(installed, process.argv.slice(1), { stdio: 'inherit' })
  // A terminal sends SIGINT to both: a server takes the second one for an echo.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
