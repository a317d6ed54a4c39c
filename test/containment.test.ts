// What a server does to contain the processes that it forks, and what it says where it cannot.
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import { layOut, protectDatabase } from '../src/app/store/data-dir.ts'
import { startTestApp, withBuiltin } from './test-app.ts'

vi.setConfig({ testTimeout: 30_000 })

const poster = ['builtin/image/poster/text-to-image', { title: 'Contained' }] as const
const modeOf = (path: string): number => statSync(path).mode & 0o777

test('a new database and an existing one are readable for their owner alone', async () => {
  await using app = await startTestApp({}, withBuiltin)
  const { database } = layOut(app.config.dataDir)
  for (const file of [database, `${database}-wal`, `${database}-shm`]) expect(modeOf(file)).toBe(0o600)
  const before = join(app.folder, 'before.db')
  for (const file of [before, `${before}-wal`]) writeFileSync(file, '', { mode: 0o644 })
  protectDatabase(before)
  expect([modeOf(before), modeOf(`${before}-wal`), existsSync(`${before}-shm`)]).toEqual([0o640, 0o640, false])
})

const canSwitch = process.platform === 'linux' && process.getuid?.() === 0
if (!canSwitch) console.warn('tests of another user are skipped: they need root on Linux')

test.runIf(canSwitch)(
  'MEDIAGEN_CHILD_USER: where a user cannot reach the data directory, one line of the log says so, and jobs run all the same',
  async () => {
    const closed = mkdtempSync(join(tmpdir(), 'mediagen-closed-'))
    chmodSync(closed, 0o700)
    const lines: { level: number; missing?: string[]; msg: string }[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    try {
      await using app = await startTestApp(
        { MEDIAGEN_DATA_DIR: join(closed, 'data'), MEDIAGEN_CHILD_USER: '1234' },
        { ...withBuiltin, log },
      )
      expect((await app.generate(...poster)).body).toMatchObject({ status: 'succeeded' })
      const said = lines.filter(({ msg }) => msg.includes('docs/containment.md'))
      expect(said).toHaveLength(1)
      expect(said[0]?.missing?.join()).toMatch(/the user with id 1234 \(.+\)/)
    } finally {
      rmSync(closed, { recursive: true })
    }
  },
)
