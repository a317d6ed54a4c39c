// What operators do on the command line is on record: in the database under the user who did it, and in a line of the log.
import { userInfo } from 'node:os'
import { expect, test } from 'vitest'
import { openCommandLine } from './command-line.ts'

test('each act of a command is on record and logged on standard error; what only reads is not', async () => {
  await using line = openCommandLine({ MEDIAGEN_LOG_LEVEL: 'info' })
  const { account_id } = await line.json(['accounts', 'create', '--name', 'Ada', '--credits', '3'])
  const granted = await line.run(['credits', 'grant', '--account', account_id, '--credits', '4', '--json'])
  expect(JSON.parse(granted.stdout)).toMatchObject({ available: 7 })
  const { username } = userInfo()
  const logged = JSON.parse(granted.stderr)
  expect(logged).toMatchObject({
    msg: 'administrative act',
    act: 'credits.granted',
    subject: account_id,
    os_user: username,
    after: { available: 7 },
  })
  await line.json(['accounts', 'list'])
  await line.run(['keys', 'revoke', 'key_none'])
  const listed = await line.json(['audit', 'list'])
  expect(listed).toEqual([
    {
      entry_id: logged.audit_id,
      created_at: expect.stringMatching(/Z$/),
      actor: { key_id: null, account_id: null, os_user: username },
      act: 'credits.granted',
      subject: account_id,
      account_id,
      before: { available: 3, held: 0 },
      after: { available: 7, held: 0, credits: 4, note: null },
    },
    expect.objectContaining({ act: 'account.created', before: null, after: { name: 'Ada', available: 3 } }),
  ])
})

test('the list is limited and filtered, and a table for people', async () => {
  await using line = openCommandLine()
  const one = await line.json(['accounts', 'create', '--name', 'one'])
  await line.json(['accounts', 'create', '--name', 'two'])
  const made = await line.json(['keys', 'create', '--account', one.account_id, '--permissions', 'admin'])
  await line.json(['quotes', 'rotate-key'])
  const acts = async (...args: string[]) =>
    (await line.json(['audit', 'list', ...args])).map(({ act }: { act: string }) => act)
  expect(await acts()).toEqual(['signing_key.rotated', 'key.created', 'account.created', 'account.created'])
  expect(await acts('--limit', '1')).toEqual(['signing_key.rotated'])
  expect(await acts('--account', one.account_id)).toEqual(['key.created', 'account.created'])
  const { stdout, stderr, status } = await line.run(['audit', 'list', '--limit', '2'])
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout.split('\n')[0]).toMatch(/^created_at +actor +act +subject +account_id +before +after$/)
  expect(stdout).toContain(`key.created          ${made.key_id}`)
  expect(stdout).toContain('{"permissions":["admin"],"expires_at":null}')
  expect(stdout).not.toContain(made.key)
  for (const limit of ['0', '501', 'x']) expect((await line.run(['audit', 'list', '--limit', limit])).status).toBe(1)
})

test('MEDIAGEN_LOG_LEVEL silences the line, not the record', async () => {
  await using line = openCommandLine({ MEDIAGEN_LOG_LEVEL: 'warn' })
  await line.run(['migrate'])
  const { stderr } = await line.run(['accounts', 'create', '--name', 'quiet'])
  expect(stderr).toBe('')
  expect(await line.json(['audit', 'list'])).toHaveLength(1)
})

test('a terminal gets no line of the log, and the record is the same', async () => {
  await using line = openCommandLine({ MEDIAGEN_LOG_LEVEL: 'info' })
  await line.run(['migrate'])
  const { isTTY } = process.stderr
  process.stderr.isTTY = true
  try {
    expect((await line.run(['accounts', 'create', '--name', 'Ada'])).stderr).toBe('')
  } finally {
    process.stderr.isTTY = isTTY
  }
  expect(await line.json(['audit', 'list'])).toMatchObject([{ act: 'account.created' }])
})
