// What holds for all that was seen, at the end.
import type { Entry, Job } from '@mediagen/client/client.ts'
import { type Check, expect, Skipped } from './check.ts'
import { findBreak, findWrongHash } from './ledger.ts'
import { describe } from './probe.ts'

/** What holds for every entry, every moment and every job. */
export const totalChecks: readonly Check[] = [
  {
    name: 'each job has one hold, and once it has ended, charged + released = held, as in its record',
    async run({ settle, ledger, probe }) {
      const jobs = await settle()
      await ledger.look()
      for (const { job_id: id } of jobs) {
        const answer = await probe.send<Job>(`/v1/jobs/${id}`)
        expect(answer.status === 200, `the record of ${id}`, describe(answer))
        const { status, billing } = answer.body as Job
        const of = (kind: Entry['kind']): number[] =>
          ledger.entries().flatMap((entry) => (entry.job_id === id && entry.kind === kind ? [entry.credits] : []))
        const { quoted, held, charged, released } = billing
        const isOpen = status === 'needs_review'
        const isSettled = isOpen ? charged + released === 0 : charged + released === held
        expect(quoted === held && isSettled, `${id} to be settled once`, JSON.stringify(billing))
        expect(status === 'succeeded' || charged === 0, `${id}, which has ${status}, to be free`, `${charged} charged`)
        const expected = [[held], charged ? [charged] : [], released ? [released] : []]
        const seen = [of('hold'), of('charge'), of('release')]
        expect(
          String(expected) === String(seen),
          `${id}: hold, charge, release of ${expected.join('; ')}`,
          seen.join('; '),
        )
      }
      if (jobs.length === 0) throw new Skipped('no job was started')
      return `${jobs.length} jobs`
    },
  },
  {
    name: 'the wallet is what the ledger adds up to, at every moment',
    async run({ ledger: { seen } }) {
      expect(seen.unbalanced.length === 0, 'the wallet that the newest entry left', seen.unbalanced[0] ?? '')
      if (seen.comparisons === 0) throw new Skipped('the ledger never stood still long enough to compare')
      return `${seen.comparisons} times`
    },
  },
  {
    name: 'each entry follows from the one before it by arithmetic',
    async run({ ledger: { entries, seen } }) {
      const broken = findBreak(entries(), seen.whole)
      expect(broken === null, 'every balance to be the one before it and the entry', broken ?? '')
      return `${entries().length} entries${seen.whole ? '' : ', not back to the first one'}`
    },
  },
  {
    name: 'no balance was ever negative',
    async run({ ledger: { entries } }) {
      const negative = entries().find(({ available_after: available, held_after: held }) => available < 0 || held < 0)
      expect(!negative, 'balances of 0 or more', JSON.stringify(negative))
    },
  },
  {
    name: 'entries are newest first, and each is there once',
    async run({ ledger: { entries } }) {
      const late = entries().find(({ created_at: at }, index) => at < (entries()[index + 1]?.created_at ?? ''))
      expect(!late, 'times in order', `${late?.entry_id} of ${late?.created_at} after a later one`)
      expect(new Set(entries().map(({ entry_id: id }) => id)).size === entries().length, 'different ids', 'one twice')
    },
  },
  {
    name: 'an entry that was seen never changes, and stays',
    async run({ ledger }) {
      await ledger.lookAgain()
      const [first] = ledger.seen.rewritten
      expect(first === undefined, 'entries to stay as they were', first ?? '')
    },
  },
  {
    name: 'the hash of each entry covers it and the hash before it',
    async run({ ledger: { entries }, account }) {
      if (!account || !entries()[0]?.hash) throw new Skipped('this server has no hashes')
      const wrong = findWrongHash(entries(), account)
      expect(wrong === null, 'hashes over the entries', wrong ?? '')
    },
  },
  {
    name: 'every refusal is a problem (RFC 9457) with a code',
    async run({ probe: { refusals } }) {
      expect(refusals.wrong.length === 0, 'problems', refusals.wrong[0] ?? '')
      return `${refusals.count} refusals`
    },
  },
]
