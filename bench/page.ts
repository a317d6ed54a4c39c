// The page that a run of the benchmarks leaves behind: the table, its plots, and on which machine and versions it ran.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import { head, type Row, toCells } from './bench.ts'
import { escape, plotBars, plotTimeline } from './plot.ts'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'node_modules/.cache/mediagen')
const packages = ['fastify', '@grpc/grpc-js', 'better-sqlite3', 'autocannon']
const style = `
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color-scheme: light dark }
table { border-collapse: collapse; font-size: 13px } td, th { border-bottom: 1px solid #8888; padding: 4px 10px 4px 0; text-align: left; vertical-align: top }
svg { height: auto; max-width: 100% }`

/** Machine, versions, date and commit, a line each; the load is what others put on the machine if nothing of ours runs yet. */
export function describeMachine(): string[] {
  const [load = 0] = loadavg()
  const commit = readGit('rev-parse', '--short', 'HEAD')
  const changed = readGit('status', '--porcelain', '--untracked-files=no') === '' ? '' : ' with changes'
  const shared = load > 0.5 ? `; shared with other work (load average ${load.toFixed(1)} before)` : ''
  return [
    `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, ${Math.round(totalmem() / 1e9)} GB${shared}`,
    `Node ${process.versions.node}, ${packages.map((name) => `${name} ${readVersion(name)}`).join(', ')}`,
    `${new Date().toISOString().slice(0, 10)}, commit ${commit === '' ? 'unknown' : commit + changed}`,
  ]
}

/** Writes the page; returns its path. */
export function writePage(rows: readonly Row[], notes: readonly string[]): string {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'bench.html')
  const bars = plotBars(rows, notes)
  const timelines = rows.flatMap(({ timeline }) => {
    return timeline ? [`<h2>${escape(timeline.title)}</h2>`, plotTimeline(timeline)] : []
  })
  const toTableRow = (cells: readonly string[], tag: string): string =>
    `<tr>${cells.map((cell) => `<${tag}>${escape(cell)}</${tag}>`).join('')}</tr>`
  const table = [toTableRow(head, 'th'), ...rows.map((row) => toTableRow(toCells(row), 'td'))]
  writeFileSync(
    file,
    `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Benchmarks of mediagen</title><style>${style}</style>
<h1>Benchmarks of mediagen</h1>
<p>${notes.map(escape).join('<br>')}</p>
${[bars, ...timelines].join('\n')}
<table>${table.join('\n')}</table>
</html>
`,
  )
  return file
}

function readVersion(name: string): string {
  const file = join(root, 'node_modules', name, 'package.json')
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** What git prints; nothing outside a checkout. */
function readGit(...args: string[]): string {
  return spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' }).stdout?.trim() ?? ''
}
