// The writer: owns the one connection that writes, and commits what arrives in groups. group-commit.ts is its other side.
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { takeRandomBytes } from '@mediagen/engine/random-bytes.ts'
import type { AuditEntry } from '../../../core/accounts/audit.ts'
import { StartupError } from '../../../core/errors.ts'
import { createIdSource } from '../../../core/ids.ts'
import type { JobNotification } from '../../../core/store.ts'
import { createMoveFinder, openFile, requireFile, setPragmas, toStartupError, type Connection } from '../connection.ts'
import { migrate, requireSchema } from '../migrate.ts'
import { type Answer, createBatchRunner, type SentAnswer, toFailure } from './batch.ts'
import { type Call, createCommands, runCommands } from './commands.ts'
import type { FromWriter, ToWriter, WriterOptions } from './group-commit.ts'

// Maximum number of commands per transaction; more would save nothing and delay the first.
const maxBatch = 1024
// How long a change by another process may go unnoticed.
const lookMs = 250

/** What a command answered and changed. */
interface Done {
  readonly value: unknown
  readonly changes: readonly JobNotification[]
  readonly acts: readonly AuditEntry[]
}

function openWriter({ path, migrates, nowMs }: WriterOptions): Connection {
  if (!migrates) requireFile(path)
  const db = openFile(path)
  try {
    setPragmas(db)
    if (migrates) migrate(db, path, nowMs)
    else requireSchema(db, path)
    // After a failed fsync the system keeps pages in its cache that were never written, and reads return them. So the content of
    // the log is written to the file and flushed again before anything else is written.
    db.pragma('wal_checkpoint(PASSIVE)')
    // An unwritable disk must fail now, not at the first command.
    db.exec('BEGIN IMMEDIATE; ROLLBACK')
    return db
  } catch (error) {
    db.close()
    throw toStartupError(error, path)
  }
}

function serve(db: Connection, path: string, port: MessagePort): void {
  let nowMs = 0
  let changes: JobNotification[] = []
  let acts: AuditEntry[] = []
  const clock = () => nowMs
  const commands = createCommands({
    db,
    nowMs: clock,
    ids: createIdSource(clock, takeRandomBytes),
    changed: (jobId, job) => changes.push({ jobId, job: job ?? null, queued: !job || job.status === 'queued' }),
    acted: (entry) => acts.push(entry),
  })
  const runBatch = createBatchRunner(db, createMoveFinder(path))

  /** Runs commands as one step; the first result has the changes of all. */
  function execute(calls: readonly Call[]): Done[] {
    changes = []
    acts = []
    const results = runCommands(commands, calls)
    return results.map((value, index) => (index === 0 ? { value, changes, acts } : { value, changes: [], acts: [] }))
  }

  function run(messages: readonly Extract<ToWriter, { kind: 'commands' }>[]): void {
    const submissions = messages.flatMap((message) => message.submissions)
    nowMs = messages.at(-1)?.nowMs ?? nowMs
    const answers = runBatch(
      submissions.map((call) => () => execute([call])[0]),
      () => execute(submissions),
    )
    const changed: JobNotification[] = []
    const acted: AuditEntry[] = []
    const sent = submissions.map(({ id }, index): SentAnswer => {
      const answer = answers[index] as Answer
      if (!answer.ok) return { id, ...answer }
      const { value, changes: changedNow, acts: actedNow } = answer.value as Done
      changed.push(...changedNow)
      acted.push(...actedNow)
      return { id, ok: true, value }
    })
    port.postMessage({ kind: 'answers', answers: sent, changed, acted } satisfies FromWriter)
  }

  // Detects changes by other processes; only the connection that writes can tell its own changes from theirs.
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck()
  let seenVersion = dataVersion.get()
  const looking = setInterval(() => {
    const version = dataVersion.get()
    if (version === seenVersion) return
    seenVersion = version
    port.postMessage({ kind: 'elsewhere' } satisfies FromWriter)
  }, lookMs)
  // The port keeps a thread alive.
  looking.unref()

  port.on('message', (first: ToWriter) => {
    // Commands that arrived during a commit form the next group: the slower the disk, the larger the groups.
    let messages: Extract<ToWriter, { kind: 'commands' }>[] = []
    let waiting = 0
    for (
      let message: ToWriter | undefined = first;
      message !== undefined;
      message = receiveMessageOnPort(port)?.message as ToWriter | undefined
    ) {
      if (message.kind === 'close') {
        if (messages.length > 0) run(messages)
        clearInterval(looking)
        db.pragma('optimize')
        db.close()
        port.close()
        return
      }
      messages.push(message)
      waiting += message.submissions.length
      if (waiting < maxBatch) continue
      run(messages)
      messages = []
      waiting = 0
    }
    if (messages.length > 0) run(messages)
  })
}

/**
 * Opens the database that the first message names, and writes what the next ones ask for.
 * @param onBegin called before the database is opened
 */
export function serveWrites(port: MessagePort, onBegin = (): void => {}): void {
  port.once('message', (options: WriterOptions) => {
    try {
      onBegin()
      serve(openWriter(options), options.path, port)
      port.postMessage({ kind: 'ready' } satisfies FromWriter)
    } catch (error) {
      port.postMessage({
        kind: 'refused',
        failure: toFailure(error),
        startup: error instanceof StartupError,
      } satisfies FromWriter)
      port.close()
    }
  })
}
