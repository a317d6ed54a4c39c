// Group commit at its edges: a full disk, a transaction that is gone, a rule that only the commit checks.
import type Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { createBatchRunner } from '../../src/storage/sqlite/threads/batch.ts'
import { createTestFolder, openRaw } from './sqlite-fixture.ts'

function createTable(path: string): Database.Database & Disposable {
  const db = openRaw(path)
  db.pragma('journal_mode = WAL')
  db.exec(
    'CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT UNIQUE, parent INTEGER REFERENCES notes (id) DEFERRABLE INITIALLY DEFERRED) STRICT',
  )
  return db
}

function createSteps(db: Database.Database) {
  const insert = db.prepare<[string, number | null]>('INSERT INTO notes (text, parent) VALUES (?, ?)')
  const texts = db.prepare<[], string>('SELECT text FROM notes ORDER BY id').pluck()
  return {
    add:
      (text: string, parent: number | null = null) =>
      () =>
        insert.run(text, parent).changes,
    texts: () => texts.all(),
  }
}

test('a step that throws is undone alone', () => {
  using file = createTestFolder()
  using db = createTable(file.path)
  const { add, texts } = createSteps(db)
  const failing = () => {
    add('half')()
    throw new Error('second thoughts')
  }
  const answers = createBatchRunner(db)([add('one'), failing, add('one'), add('two')])
  expect(answers.map(({ ok }) => ok)).toEqual([true, false, false, true])
  expect(answers[1]).toMatchObject({ error: { message: 'second thoughts', code: null } })
  expect(answers[2]).toMatchObject({ error: { code: 'SQLITE_CONSTRAINT_UNIQUE' } })
  expect(texts()).toEqual(['one', 'two'])
})

test('a rule that the commit checks fails the one that broke it', () => {
  using file = createTestFolder()
  using db = createTable(file.path)
  const { add, texts } = createSteps(db)
  const answers = createBatchRunner(db)([add('one'), add('orphan', 77), add('two')])
  expect(answers.map(({ ok }) => ok)).toEqual([true, false, true])
  expect(answers[1]).toMatchObject({ error: { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' } })
  expect(texts()).toEqual(['one', 'two'])
})

test('a disk that is full fails what did not fit, and the next group works', () => {
  using file = createTestFolder()
  using db = createTable(file.path)
  const { add, texts } = createSteps(db)
  const runBatch = createBatchRunner(db)
  db.pragma('max_page_count = 6')
  const answers = runBatch([add('one'), add('x'.repeat(100_000))])
  expect(answers[1]).toMatchObject({ ok: false, error: { code: 'SQLITE_FULL' } })
  // Whether SQLite gave up the whole transaction or the statement: what was answered is what is there.
  expect(texts()).toEqual(answers[0]?.ok === true ? ['one'] : [])
  expect(db.inTransaction).toBe(false)
  db.pragma('max_page_count = 1000')
  expect(runBatch([add('x'.repeat(100_000))])).toMatchObject([{ ok: true }])
})

test('a transaction that is gone fails the whole group', () => {
  using file = createTestFolder()
  using db = createTable(file.path)
  const { add, texts } = createSteps(db)
  const runBatch = createBatchRunner(db)
  const breaking = () => {
    db.exec('ROLLBACK')
    throw new Error('the disk failed')
  }
  const answers = runBatch([add('one'), breaking, add('two')])
  expect(answers.map((answer) => (answer.ok ? null : answer.error.message))).toEqual(Array(3).fill('the disk failed'))
  expect(texts()).toEqual([])
  expect(runBatch([add('three')])).toMatchObject([{ ok: true }])
  expect(texts()).toEqual(['three'])
})

test('a file that another process keeps locked fails the group after the wait', () => {
  using file = createTestFolder()
  using db = createTable(file.path)
  using other = openRaw(file.path)
  const { add, texts } = createSteps(db)
  db.pragma('busy_timeout = 10')
  other.exec('BEGIN IMMEDIATE')
  expect(createBatchRunner(db)([add('one')])).toMatchObject([{ ok: false, error: { code: 'SQLITE_BUSY' } }])
  other.exec('ROLLBACK')
  expect(createBatchRunner(db)([add('one')])).toMatchObject([{ ok: true }])
  expect(texts()).toEqual(['one'])
})
