// Names of workers: host, process and a random part, so that who starts can tell which of its neighbours are dead.

/** Makes the name of a worker. */
export function createWorkerName(host: string, pid: number, random: string): string {
  return `${host}:${pid}:${random}`
}

/** Whether a worker of the same host as `own` is surely no more. Of workers elsewhere only the lease can tell. */
export function isDeadNeighbour(name: string, own: string): boolean {
  const [host, pid] = splitName(name)
  const [ownHost, ownPid] = splitName(own)
  if (name === own || host !== ownHost) return false
  // Our number with another random part: the process that had it before us.
  return pid === ownPid || !isProcessAlive(pid)
}

/** Whether there is a process of this number. */
export function isProcessAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process is there, but another user's.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function splitName(name: string): [host: string, pid: number] {
  const [host = '', pid = ''] = name.split(':')
  return [host, Number(pid)]
}
