// Files: how much space they take, how long they are kept, and to remove what is over.
import type { FilesUsage } from '../../../gen/mediagen/v1/admin_pb.ts'
import { button, element } from '../../element.ts'
import { formatBytes } from '../../job-words.ts'
import { isAborted } from '../client.ts'
import { factList, failurePlace, pageFrame, type PageDeps, section } from '../deps.ts'
import { openAct } from '../dialog.ts'
import { agreeField } from '../fields.ts'
import { createTable, emptyNote } from '../table.ts'
import { countOf, formatDuration, formatNumber } from '../words.ts'

const kinds: Readonly<Record<string, string>> = {
  outputs: 'outputs of jobs',
  uploads: 'uploads',
  expired: 'expired, not removed yet',
  orphans: 'orphans: no record names them',
}

export function filesPage(deps: PageDeps): HTMLElement {
  const { admin, names, signal } = deps
  const kept = element('div', { 'aria-busy': 'true' })
  const sum = element('p', { class: 'fine', role: 'status' }, 'Measuring …')
  const failure = failurePlace(() => void measure())
  const again = button('Measure again', () => void measure(), { icon: 'again', look: 'quiet' })
  const table = createTable<FilesUsage>({
    label: 'Space by account and kind',
    keyOf: ({ accountId, kind }) => `${accountId} ${kind}`,
    columns: [
      {
        title: 'Account',
        kind: 'wide',
        cell: ({ accountId }) =>
          accountId === '' ? element('span', { class: 'soft' }, 'none') : names.link(accountId),
      },
      { title: 'What', cell: ({ kind }) => kinds[kind] ?? kind },
      { title: 'Files', kind: 'number', cell: ({ files }) => formatNumber(files) },
      { title: 'Size', kind: 'number', cell: ({ bytes }) => formatBytes(Number(bytes)) },
    ],
    empty: () => emptyNote('No files are stored. Outputs of jobs and uploads appear here.'),
  })

  // It visits every folder, so it is done on demand and not again and again.
  async function measure(): Promise<void> {
    again.disabled = true
    try {
      const { usage } = await admin.measureFiles({}, { signal })
      await names.learn(usage.map(({ accountId }) => accountId))
      table.show(usage.toSorted((one, other) => Number(other.bytes - one.bytes)))
      const [files, bytes] = usage.reduce(([files, bytes], one) => [files + one.files, bytes + one.bytes] as const, [
        0n,
        0n,
      ] as readonly [bigint, bigint])
      sum.textContent = `${countOf(files, 'file')}, ${formatBytes(Number(bytes))} in all`
      failure.show(null)
    } catch (error) {
      if (isAborted(error)) return
      sum.textContent = ''
      failure.show(error)
    } finally {
      again.disabled = false
    }
  }
  async function readRetention(): Promise<void> {
    try {
      const { filesIn, fileSeconds, jobSeconds, reviewSeconds, uploadBytesPerAccount } = await admin.getRetention(
        {},
        { signal },
      )
      kept.replaceChildren(
        factList([
          ['Files are in', filesIn === 's3' ? 'a bucket (S3)' : 'a folder on disk'],
          ['Files are kept for', formatDuration(Number(fileSeconds))],
          ['Records of jobs', jobSeconds === undefined ? 'for ever' : formatDuration(Number(jobSeconds))],
          ['Reviews are open for', formatDuration(Number(reviewSeconds))],
          ['Uploads of an account', `at most ${formatBytes(Number(uploadBytesPerAccount))}`],
        ]),
        element('p', { class: 'fine note' }, 'Settings of the server say so; they change when it is restarted.'),
      )
    } catch (error) {
      if (!isAborted(error)) kept.replaceChildren(emptyNote('How long files are kept could not be read.'))
    }
    kept.removeAttribute('aria-busy')
  }
  void measure()
  void readRetention()
  return pageFrame(
    'Files',
    {
      lead: 'What jobs made and users uploaded.',
      actions: [
        again,
        button('Remove what is over …', () => void openSweep(deps, () => void measure()), {
          icon: 'bin',
          look: 'quiet',
        }),
      ],
    },
    failure.element,
    section('Kept', kept),
    section('Space', sum, table.element),
    section(
      'Keys of URLs and quotes',
      element('p', { class: 'section-actions' }, 'URLs of files and quotes are signed. A new key signs from now on.'),
      element(
        'p',
        { class: 'dialog-buttons' },
        button('New key for URLs …', () => openAssetKey(deps), { icon: 'key', look: 'quiet' }),
        button('New key for quotes …', () => openQuoteKey(deps), { icon: 'key', look: 'quiet' }),
      ),
    ),
  )
}

async function openSweep({ admin, signal }: PageDeps, done: () => void): Promise<void> {
  const words = (found: { expiredFiles: bigint; expiredBytes: bigint; orphanedFiles: bigint; orphanedBytes: bigint }) =>
    `${countOf(found.expiredFiles, 'expired file')} (${formatBytes(Number(found.expiredBytes))}) and ${countOf(found.orphanedFiles, 'orphan')} (${formatBytes(Number(found.orphanedBytes))})`
  const found = await admin.sweepFiles({ dryRun: true }, { signal }).catch(() => null)
  openAct({
    title: 'Remove files that are over',
    intro: [
      found ? `${words(found)} would be removed.` : 'Expired files and orphans are removed.',
      'The server does this by itself, too, only later. Removed files cannot be brought back.',
    ],
    label: 'Remove them',
    isFinal: true,
    async run() {
      const removed = await admin.sweepFiles({})
      const { notRemoved } = removed
      return element(
        'div',
        {},
        element('p', {}, `${words(removed)} removed.`),
        notRemoved.length === 0 ? null : element('p', {}, `Not removed: ${notRemoved.join('; ')}`),
      )
    },
    done,
  })
}

function openAssetKey({ admin }: PageDeps): void {
  const revoke = agreeField('Also stop all URLs that were signed before, at once', false)
  openAct({
    title: 'New key for URLs of files',
    intro:
      'URLs that were signed before work until they expire, unless you stop them. Stopped URLs cannot be brought back; clients read their jobs again for new ones.',
    fields: [revoke],
    label: 'Make the key',
    isFinal: true,
    async run() {
      const { keyNumber } = await admin.rotateAssetKey({ revoke: revoke.read() })
      return element('p', {}, `URLs are signed with key ${keyNumber} now.`)
    },
  })
}

function openQuoteKey({ admin }: PageDeps): void {
  openAct({
    title: 'New key for quotes',
    intro: 'Quotes that were made before stay valid until they expire.',
    label: 'Make the key',
    async run() {
      const { keyNumber } = await admin.rotateQuoteKey({})
      return element('p', {}, `Quotes are sealed with key ${keyNumber} now.`)
    },
  })
}
