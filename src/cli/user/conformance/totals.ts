// What holds for every entry, every moment and every job, looked at in the end.
import type { Entry, Job } from '@mediagen/client/client.ts'
import { hashEntry } from '../../../core/credits/ledger-chain.ts'
import type { Checks } from './check.ts'
import { expect, Skipped } from './probe.ts'

/** What a credit of an entry adds to what is available, and to what is held. */
const changes: Readonly<Record<Entry['kind'], readonly [number, number]>> = {
  grant: [1, 0],
  adjust: [1, 0],
  hold: [-1, 1],
  charge: [0, -1],
  release: [1, -1],
}

/** The checks. */
export const totalChecks: Checks = {
  async 'each job has one hold, settled once: charged + released = held, in its record and in the ledger'(context) {
    const jobs = await context.settle()
    await context.ledger.look()
    for (const { job_id: id } of jobs) {
      const { status, billing } = await context.probe.get<Job>(`/v1/jobs/${id}`)
      const { quoted, held, charged, released } = billing
      const resolved = status === 'needs_review' ? 0 : held
      expect(quoted === held && charged + released === resolved, `${id} to be settled`, billing)
      expect(status === 'succeeded' || charged === 0, `${id}, which has ${status}, to be free`, billing)
      const moved = context.ledger.entries.filter(({ job_id: job }) => job === id).toReversed()
      const seen = moved.map(({ kind, credits }) => `${kind} ${credits}`).join(', ')
      const expected = [`hold ${held}`, charged > 0 && `charge ${charged}`, released > 0 && `release ${released}`]
      expect(seen === expected.filter(Boolean).join(', '), `${id} to have ${expected.filter(Boolean).join(', ')}`, seen)
    }
    if (jobs.length === 0) throw new Skipped('no job was started')
    return `${jobs.length} jobs`
  },
  async 'the wallet is what the ledger adds up to, at every moment'({ ledger: { seen } }) {
    expect(seen.unbalanced.length === 0, 'the balance of the newest entry', seen.unbalanced[0])
    if (seen.comparisons === 0) throw new Skipped('the ledger never stood still')
    return `${seen.comparisons} times`
  },
  async 'each entry follows from the one before it by arithmetic'({ ledger: { entries, isWhole } }) {
    for (const [index, entry] of entries.entries()) {
      const before = entries[index + 1] ?? (isWhole ? { available_after: 0, held_after: 0 } : null)
      const [toAvailable, toHeld] = changes[entry.kind]
      const available = (before?.available_after ?? 0) + toAvailable * entry.credits
      const held = (before?.held_after ?? 0) + toHeld * entry.credits
      const holds = !before || (entry.available_after === available && entry.held_after === held)
      expect(holds, `${available} available and ${held} held`, entry)
    }
    return `${entries.length} entries${isWhole ? '' : ', not back to the first one'}`
  },
  async 'no balance was ever negative'({ ledger: { entries } }) {
    const negative = entries.find(({ available_after: available, held_after: held }) => available < 0 || held < 0)
    expect(!negative, 'balances of 0 or more', negative)
  },
  async 'entries are newest first, and each is there once'({ ledger: { entries } }) {
    const early = entries.find(({ created_at: at }, index) => at < (entries[index + 1]?.created_at ?? ''))
    expect(!early, 'times in order', early)
    expect(new Set(entries.map(({ entry_id: id }) => id)).size === entries.length, 'no entry twice', 'one twice')
  },
  async 'an entry that was seen never changes, and stays'({ ledger }) {
    await ledger.reread()
    expect(ledger.seen.rewritten.length === 0, 'entries to stay as they were', ledger.seen.rewritten[0])
  },
  async 'the hash of each entry covers it and the hash before it'({ ledger: { entries }, account }) {
    if (account === undefined || !entries[0]?.hash) throw new Skipped('this server has no hashes')
    for (const [index, entry] of entries.entries()) {
      const before = entries[index + 1]
      // From before entries had hashes.
      if (entry.hash === null && (before?.hash ?? null) === null) continue
      const hash = hashEntry(entry.previous_hash, {
        accountId: account,
        entryId: entry.entry_id,
        kind: entry.kind,
        jobId: entry.job_id,
        credits: entry.credits,
        availableAfter: entry.available_after,
        heldAfter: entry.held_after,
        reference: entry.reference,
        note: entry.note,
        createdAtMs: Date.parse(entry.created_at),
      })
      const isChained = !before || entry.previous_hash === before.hash
      expect(entry.hash === hash && isChained, `the hash ${hash} after ${before?.hash ?? 'none'}`, entry)
    }
  },
  async 'every refusal is a problem (RFC 9457) with a code'({ probe: { refusals } }) {
    const other = refusals.find(({ code }) => code === 'unexpected_answer')
    expect(!other, 'problems', other?.message)
    return `${refusals.length} refusals`
  },
}
