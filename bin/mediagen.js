#!/usr/bin/env node
// Plain JavaScript, so that an old Node can run it: it hands over to the Node that was installed with mediagen, or says what
// is wrong. Everything else begins in src/main.ts.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'
import * as v8 from 'node:v8'

const needed = 24
const startMs = 2000
const installed = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url))

if (Number(process.versions.node.split('.')[0]) >= needed) await run()
else if (existsSync(installed)) handOver()
else {
  process.stderr.write(
    `mediagen needs Node ${needed} or newer, and this is Node ${process.versions.node}. Install Node ${needed} (https://nodejs.org), or run npm ci in the folder of mediagen without --workspaces=false, which brings one.\n`,
  )
  process.exitCode = 1
}

async function run() {
  // Stripping the types of the console's files is still called experimental; that is no news for who runs a server.
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    if (warning.name !== 'ExperimentalWarning') process.stderr.write(`${warning.stack ?? warning.message}\n`)
  })
  // Nearly all that a program loads while it starts survives. V8 takes that for load and would keep 32 MB for new objects for ever.
  // Code that runs only then is not worth optimizing: the compilers touch 16 MB. After a collection that it may mark in steps, V8
  // would collect again once the program is idle.
  for (const flag of ['--semi-space-growth-factor=1', '--no-opt', '--no-maglev', '--no-incremental-marking'])
    v8.setFlagsFromString(flag)
  // Code that was compiled once is kept, so that commands begin in half the time. Threads and forked processes hear of it by the variable.
  // It comes after the flags: kept code is for those that it was compiled under.
  // Never in a temporary folder: whoever makes that first would choose the code.
  const root = fileURLToPath(new URL('..', import.meta.url))
  const { findCompileCache } = await import('./compile-cache.ts')
  const cache = process.env.NODE_COMPILE_CACHE ? null : findCompileCache(root)
  if (cache !== null && nodeModule.enableCompileCache?.(cache)?.directory) process.env.NODE_COMPILE_CACHE = cache
  setTimeout(() => {
    for (const flag of ['--semi-space-growth-factor=2', '--opt', '--maglev', '--incremental-marking'])
      v8.setFlagsFromString(flag)
  }, startMs).unref()
  const { findBundle } = await import('./bundle.ts')
  const { main } = await import(findBundle(root) ?? '../src/main.ts')
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
