// How a job goes, on standard error: a bar that moves on a terminal, a line for each state anywhere else.
import type { Job } from '@mediagen/client/client.ts'
import { escapeHidden } from '../../core/text/hidden-characters.ts'

const width = 24

/** Shows records as they come. */
export interface Progress {
  show(job: Job): void
  /** Leaves the bar; what is printed next begins on a line of its own. */
  end(): void
}

/**
 * Creates the display.
 * @param which of several jobs it is, such as `2/8 `
 */
export function createProgress(out: NodeJS.WriteStream = process.stderr, which = ''): Progress {
  let last = ''
  return {
    show(job) {
      const line = escapeHidden(which + (out.isTTY ? drawBar(job) : `${job.job_id} ${job.status}`))
      if (line === last) return
      last = line
      out.write(out.isTTY ? `\r\u001B[K${line.slice(0, Math.max(20, out.columns - 1))}` : `${line}\n`)
    },
    end() {
      if (out.isTTY && last !== '') out.write('\r\u001B[K')
      last = ''
    },
  }
}

function drawBar({ status, progress, queue_position }: Job): string {
  if (status === 'queued') return `queued${queue_position === null ? '' : `, place ${queue_position}`}`
  const done = Math.round(progress * width)
  return `${status} ${'█'.repeat(done)}${'░'.repeat(width - done)} ${Math.round(progress * 100)}%`
}
