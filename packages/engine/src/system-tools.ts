// The tools of the system that limit programs (util-linux), and the limits that the server has itself.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// The tools are looked for here and nowhere else, whatever PATH the server has.
const toolFolders = ['/usr/bin', '/bin', '/usr/sbin', '/sbin']
/** A PATH with nothing else in it. */
export const toolPath = toolFolders.join(':')
const findTool = (name: string): string =>
  toolFolders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? name
/** Paths of the tools; names without a path for those that are not there. */
export const tools = { unshare: findTool('unshare'), prlimit: findTool('prlimit'), setpriv: findTool('setpriv') }

/** Whether a tool is there; it may be refused to work all the same. */
export function hasTool(name: keyof typeof tools): boolean {
  return tools[name].includes('/')
}

/** A limit, or the one that the server has itself: only root may raise that. */
export function atMost(name: string, value: number): number {
  const hard = new RegExp(`^Max ${name} +\\S+ +(\\d+) `, 'm').exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  return Math.min(Math.floor(value), Number(hard ?? Number.POSITIVE_INFINITY))
}
