// Programs of operators with limits of the kernel. Each tool replaces itself by the next, so that the program has the process
// that was spawned.

import type { KernelLimits, SystemUser } from './containment.ts'
import { atMost, hasTool, tools } from './system-tools.ts'

/** The limits of a program. By default it only cannot gain privileges. */
export interface ProgramLimits extends Partial<KernelLimits> {
  /** Whether it may use the network. Default: true. */
  readonly network?: boolean
  /** User to run as; only root can choose. Default: that of the server. */
  readonly user?: SystemUser
  /** Whether it may gain privileges, as `sudo` does. Default: false. */
  readonly newPrivileges?: boolean
}

/** A program and its arguments. */
export interface Command {
  readonly path: string
  readonly args: readonly string[]
}

const isRoot = (): boolean => process.getuid?.() === 0

/** Why this machine cannot set the requested limits; null if it can. Default limits are set only where possible. */
export function whyNotLimited(limits: ProgramLimits): string | null {
  if (limits.user && !isRoot()) return 'limits.user needs a server that runs as root'
  if (limits.user && !hasTool('setpriv')) return 'limits.user needs setpriv (util-linux)'
  if (limits.network === false && !hasTool('unshare')) return 'limits.network needs unshare (util-linux)'
  if (toLimits(limits).length > 0 && !hasTool('prlimit')) return 'limits need prlimit (util-linux)'
  return null
}

/** Puts the tools that set the limits before a program. */
export function limitProgram({ path, args }: Command, limits: ProgramLimits): Command {
  const { user, network = true, newPrivileges = false } = limits
  const kernel = toLimits(limits)
  const privileges = [
    ...(newPrivileges ? [] : ['--no-new-privs']),
    ...(user
      ? [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', '--inh-caps=-all', '--bounding-set=-all']
      : []),
  ]
  const [program = path, ...rest] = [
    ...(network ? [] : [tools.unshare, '--net', ...(isRoot() ? [] : ['--user', '--map-current-user']), '--']),
    ...(kernel.length > 0 ? [tools.prlimit, '--core=0', ...kernel, '--'] : []),
    ...(privileges.length > 0 && hasTool('setpriv') ? [tools.setpriv, ...privileges, '--'] : []),
    path,
    ...args,
  ]
  return { path: program, args: rest }
}

function toLimits({ openFiles, tasks, fileBytes, memoryBytes }: ProgramLimits): string[] {
  return [
    ...(openFiles === undefined ? [] : [`--nofile=${atMost('open files', openFiles)}`]),
    ...(tasks === undefined ? [] : [`--nproc=${atMost('processes', tasks)}`]),
    ...(fileBytes === undefined ? [] : [`--fsize=${atMost('file size', fileBytes)}`]),
    ...(memoryBytes === undefined ? [] : [`--data=${atMost('data size', memoryBytes)}`]),
  ]
}

/** Why a program did not start, if the last output of one of the tools says so; null if it started. */
export function whyNotStarted(exitCode: number | null, lastWords: string): string | null {
  if (exitCode !== 126 && exitCode !== 127) return null
  const said = /^(?:setpriv|prlimit|unshare): .*: ([^:]+)$/.exec(lastWords)?.[1]
  if (said === undefined) return null
  return errorNames[said] ?? said
}

// The tools print these messages for what Node reports as a code.
const errorNames: Readonly<Record<string, string>> = {
  'No such file or directory': 'ENOENT',
  'Permission denied': 'EACCES',
  'Exec format error': 'ENOEXEC',
  'Argument list too long': 'E2BIG',
  'Not a directory': 'ENOTDIR',
}
