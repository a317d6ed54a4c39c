// Names of workers: host, process and a random part, so a starting worker can tell which neighbours are dead.

/** Creates the name of a worker. */
export function createWorkerName(host: string, pid: number, random: string): string {
  return `${host}:${pid}:${random}`
}

/** Whether a worker on the same host as `own` is certainly dead. For other hosts only the lease can tell. */
export function isDeadNeighbour(name: string, own: string): boolean {
  const [host, pid] = splitName(name)
  const [ownHost, ownPid] = splitName(own)
  if (name === own || host !== ownHost) return false
  // The same process id with another random part is an earlier process.
  return pid === ownPid || !isProcessAlive(pid)
}

/** Whether a process with this id exists. */
export function isProcessAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function splitName(name: string): [host: string, pid: number] {
  const [host = '', pid = ''] = name.split(':')
  return [host, Number(pid)]
}
