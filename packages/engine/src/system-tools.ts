// The tools of the system that limit programs (util-linux), and the server's own limits.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// The tools are searched only here, whatever PATH the server has.
const toolFolders = ['/usr/bin', '/bin', '/usr/sbin', '/sbin']
/** A PATH of these folders only. */
export const toolPath = toolFolders.join(':')
const findTool = (name: string): string =>
  toolFolders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? name
/** Paths of the tools; names without a path for those that are not there. */
export const tools = { unshare: findTool('unshare'), prlimit: findTool('prlimit'), setpriv: findTool('setpriv') }

/** Whether a tool is installed; the system may still refuse what it does. */
export function hasTool(name: keyof typeof tools): boolean {
  return tools[name].includes('/')
}

/** A limit, or the server's own if that is lower: only root may raise it. */
export function atMost(name: string, value: number): number {
  const hard = new RegExp(`^Max ${name} +\\S+ +(\\d+) `, 'm').exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  return Math.min(Math.floor(value), Number(hard ?? Number.POSITIVE_INFINITY))
}
