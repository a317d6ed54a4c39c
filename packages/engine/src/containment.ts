// Containment of forked processes by the system: another user, namespaces (network, processes, mounts), limits of the kernel, and
// no way to gain privileges. It finds out once what this machine supports, and describes what is missing.

import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, rm } from 'node:fs/promises'
import { release } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { atMost, toolPath, tools } from './system-tools.ts'

const checkTimeoutMs = 10_000
const wordsChars = 200

/** A user of the system. */
export interface SystemUser {
  readonly uid: number
  readonly gid: number
}

/** Limits that the kernel enforces for a process and the programs that it starts. */
export interface KernelLimits {
  /** Open files of each process. */
  readonly openFiles: number
  /** Processes and threads together. */
  readonly tasks: number
  /** Size of each file that is written, in bytes. */
  readonly fileBytes: number
  /** Private memory of each process, in bytes. It is far larger than resident memory, because stacks and reserves count. */
  readonly memoryBytes: number
}

/** A program as it is to be spawned. */
export interface WrappedProgram {
  readonly path: string
  readonly args: readonly string[]
  /** Options for `spawn`. */
  readonly as: Partial<SystemUser>
}

/** How processes are contained on this machine. */
export interface Containment {
  /** The user that processes run as; null for that of the server. */
  readonly user: SystemUser | null
  /** Whether processes cannot see the hidden folder. */
  readonly hides: boolean
  /** Whether the program is a grandchild of the spawned process, which then exits with 128 + n for signal n. */
  readonly isNested: boolean
  /** Descriptions of what processes can do here although they should not. */
  readonly missing: readonly string[]
  /** Adds the containment to a program. @param folder the folder of the process, where it must be spawned */
  wrap(path: string, args: readonly string[], limits: KernelLimits, folder: string): WrappedProgram
}

/** No containment, for tools and tests. */
export const uncontained: Containment = {
  user: null,
  hides: false,
  isNested: false,
  missing: [],
  wrap: (path, args) => ({ path, args, as: {} }),
}

/** The containment to use as far as the machine supports it. */
export interface ContainmentOptions {
  /** User to run as, if the server is root. */
  readonly user: SystemUser | null
  /** Folder with the database, which processes must not see. */
  readonly hidden: string
  /** Folder in which the folders of processes are; it may be in `hidden`. */
  readonly folder: string
  /** Files and folders that processes must be able to read. */
  readonly readable: readonly string[]
  /** Number of processes that share the user, for limits that the kernel counts by user. */
  readonly processes: number
  /** Which namespaces are tried, the strongest first. Default: all. */
  readonly namespaces?: readonly Namespaces[]
}

/**
 * Which namespaces a process gets: all of them, with the hidden folder out of sight; all of them, without hiding the folder; those
 * that root can create without a user namespace; or none.
 */
export type Namespaces = 'hiding' | 'user' | 'root' | 'none'

/** One way to contain processes. */
interface Way {
  readonly namespaces: Namespaces
  readonly user: SystemUser | null
  readonly hasPrlimit: boolean
  readonly hasSetpriv: boolean
}

const isRoot = (): boolean => process.getuid?.() === 0
const namespaceWays: readonly Namespaces[] = ['hiding', 'user', 'root', 'none']

/** Finds the strongest containment that works on this machine, by trying it. */
export async function findContainment(options: ContainmentOptions): Promise<Containment> {
  if (process.platform !== 'linux')
    return { ...uncontained, missing: [`all that the kernel could refuse: this is ${process.platform}, not Linux`] }
  const [prlimit, setpriv] = await Promise.all([
    whyNot(tools.prlimit, ['--core=0', '--', 'true']),
    whyNot(tools.setpriv, ['--no-new-privs', '--', 'true']),
  ])
  const missing: string[] = []
  if (prlimit !== null) missing.push(`limits on open files, file sizes, processes and memory (${prlimit})`)
  if (setpriv !== null) missing.push(`no_new_privs (${setpriv})`)
  const has = { hasPrlimit: prlimit === null, hasSetpriv: setpriv === null }
  const wanted = isRoot() ? options.user : null
  const { way, failures } = await findWay(has, wanted, options)
  const failed = (namespaces: Namespaces, user: SystemUser | null): string =>
    failures.get(`${namespaces} ${user?.uid}`) ?? 'not tried'
  if (way.namespaces === 'none') missing.push(`namespaces without network (${failed('user', way.user)})`)
  if (way.user === null && wanted !== null) missing.push(`the user with id ${wanted.uid} (${failed('none', wanted)})`)
  if (way.user === null && way.namespaces !== 'hiding')
    missing.push('a database that is out of reach: they run as the user of the server, who can read it')
  return createContainment(way, missing, options)
}

async function findWay(
  has: Pick<Way, 'hasPrlimit' | 'hasSetpriv'>,
  wanted: SystemUser | null,
  options: ContainmentOptions,
): Promise<{ way: Way; failures: ReadonlyMap<string, string> }> {
  const failures = new Map<string, string>()
  for (const user of wanted ? [wanted, null] : [null])
    for (const namespaces of options.namespaces ?? namespaceWays) {
      // Only root has them without a user namespace, and without setpriv root could not give up being root afterwards.
      if (namespaces === 'root' && !(isRoot() && has.hasSetpriv)) continue
      const way: Way = { namespaces, user, ...has }
      const failure = await tryOut(createContainment(way, [], options), options)
      if (failure === null) return { way, failures }
      failures.set(`${namespaces} ${user?.uid}`, failure)
    }
  return { way: { namespaces: 'none', user: null, ...has }, failures }
}

/** Runs a shell that checks whether it can read and write the necessary files. Null if it can, else the reason. */
async function tryOut(containment: Containment, { folder, readable }: ContainmentOptions): Promise<string | null> {
  const own = join(folder, 'check')
  const output = join(own, 'out')
  await rm(own, { recursive: true, force: true })
  await mkdir(output, { recursive: true })
  await chmod(own, 0o755)
  if (containment.user) await chown(output, containment.user.uid, containment.user.gid)
  const script = `test -w "$1" || { echo "cannot write $1" >&2; exit 1; }
    for path; do test -r "$path" || { echo "cannot read $path" >&2; exit 1; }; done`
  const args = ['-c', script, 'sh', output, process.execPath, ...readable]
  const limits = { openFiles: 64, tasks: 64, fileBytes: 1e6, memoryBytes: 1e9 }
  const program = containment.wrap('/bin/sh', args, limits, own)
  const failure = await whyNot(program.path, program.args, { cwd: own, ...program.as })
  await rm(own, { recursive: true, force: true })
  return failure
}

/** Null if a program runs and succeeds, else the last line of its output. */
async function whyNot(path: string, args: readonly string[], options: object = {}): Promise<string | null> {
  try {
    await promisify(execFile)(path, args, { timeout: checkTimeoutMs, env: { PATH: toolPath }, ...options })
    return null
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string }
    return (stderr.trim().split('\n').at(-1) || message).slice(0, wordsChars)
  }
}

function createContainment(way: Way, missing: readonly string[], options: ContainmentOptions): Containment {
  const { user, namespaces } = way
  // The first two begin as the user; root gives itself up when the namespaces are made.
  const switchesLate = namespaces === 'root'
  return {
    user,
    hides: namespaces === 'hiding',
    isNested: namespaces !== 'none',
    missing,
    wrap(path, args, limits, folder) {
      const [program = path, ...rest] = [
        ...toNamespaceTool(namespaces, options.hidden, folder),
        ...(way.hasPrlimit ? toLimitTool(limits, way, options) : []),
        ...(way.hasSetpriv ? toPrivilegeTool(way) : []),
        path,
        ...args,
      ]
      return { path: program, args: rest, as: user && !switchesLate ? user : {} }
    },
  }
}

function toNamespaceTool(namespaces: Namespaces, hidden: string, folder: string): string[] {
  const unshare = [tools.unshare, '--net', '--ipc', '--pid', '--fork', '--kill-child']
  // Process 1 of its namespace: when it ends, everything in the namespace ends.
  const first = ['/bin/sh', '-c']
  switch (namespaces) {
    case 'none':
      return []
    case 'root':
      return [...unshare, '--', ...first, runScript, 'sh']
    case 'user':
      return [...unshare, '--user', '--map-root-user', '--', ...first, runScript, 'sh']
    case 'hiding': {
      const mounts = ['--user', '--map-root-user', '--mount', '--propagation', 'private']
      return [...unshare, ...mounts, '--', ...first, hideScript, 'sh', hidden, folder]
    }
  }
}

const runScript = '"$@"; exit $?'
// Mounts an empty folder over the hidden one, with only the folder of the process in it.
const hideScript = `PATH=${toolPath}; exec 9<. && mount -t tmpfs -o mode=755,size=1m none "$1" && mkdir -p "$2" &&
  mount -c --bind /proc/self/fd/9 "$2" && mount -o remount,ro none "$1" && exec 9<&- && cd "$2" || exit 125
  shift 2; ${runScript}`

function toLimitTool(
  { openFiles, tasks, fileBytes, memoryBytes }: KernelLimits,
  way: Way,
  options: ContainmentOptions,
) {
  const { user, namespaces } = way
  // The kernel counts tasks by user (since 5.14 separately in each user namespace), and never those of root.
  const countsApart = (namespaces === 'hiding' || namespaces === 'user') && isKernelSince(5, 14)
  const isCounted = user !== null || !isRoot()
  const nproc = countsApart ? tasks : user === null ? null : tasks * options.processes
  return [
    tools.prlimit,
    '--core=0',
    `--nofile=${atMost('open files', openFiles)}`,
    `--fsize=${atMost('file size', fileBytes)}`,
    `--data=${atMost('data size', memoryBytes)}`,
    ...(isCounted && nproc !== null ? [`--nproc=${atMost('processes', nproc)}`] : []),
    '--',
  ]
}

function toPrivilegeTool({ user, namespaces }: Way): string[] {
  const { uid, gid } = user ?? {}
  const switching = namespaces === 'root' && user ? [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'] : []
  // A user without capabilities has none to drop.
  const dropping = namespaces === 'none' && (user !== null || !isRoot()) ? [] : ['--bounding-set=-all']
  return [tools.setpriv, '--no-new-privs', '--inh-caps=-all', ...dropping, ...switching, '--']
}

function isKernelSince(major: number, minor: number): boolean {
  const [a = 0, b = 0] = release().split('.').map(Number)
  return a > major || (a === major && b >= minor)
}
