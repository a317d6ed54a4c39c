// packages/client as programs elsewhere have it: built, without its sources.
import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const client = join(root, 'packages/client')

/** Puts the package into node_modules of a folder. */
export function buildClient(folder: string): void {
  const place = join(folder, 'node_modules/@mediagen/client')
  const project = join(client, 'tsconfig.build.json')
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', project, '--outDir', join(place, 'dist')])
  cpSync(join(client, 'package.json'), join(place, 'package.json'))
}
