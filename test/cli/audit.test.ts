// What operators do on the command line is on record under the user who did it.
import { userInfo } from 'node:os'
import { expect, test } from 'vitest'
import { openCommandLine } from './command-line.ts'

test('each act of a command is on record; what only reads is not', async () => {
  await using line = openCommandLine({ MEDIAGEN_LOG_LEVEL: 'info' })
  const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'Ada', '--credits', '3'])
  const grant = ['admin', 'credits', 'grant', '--account', account_id, '--credits', '4']
  const { status, stdout, stderr } = await line.run(grant)
  expect([status, stdout]).toEqual([0, `Granted 4 credits to Ada (${account_id}): 7 available.\n`])
  expect(stderr, 'no line of a log').toMatch(/^on this machine \(.*\)\n$/)
  await line.json(['admin', 'accounts', 'list'])
  await line.run(['admin', 'keys', 'revoke', 'key_none'])
  const listed = await line.json(['admin', 'audit', 'list'])
  expect(listed).toEqual([
    {
      entry_id: expect.stringMatching(/^audit_/),
      created_at: expect.stringMatching(/Z$/),
      actor: { key_id: null, account_id: null, os_user: userInfo().username },
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
  const one = await line.json(['admin', 'accounts', 'create', '--name', 'one'])
  await line.json(['admin', 'accounts', 'create', '--name', 'two'])
  const made = await line.json(['admin', 'keys', 'create', '--account', one.account_id, '--permissions', 'admin'])
  await line.json(['admin', 'quotes', 'rotate-key'])
  const acts = async (...args: string[]) =>
    (await line.json(['admin', 'audit', 'list', ...args])).map(({ act }: { act: string }) => act)
  expect(await acts()).toEqual(['signing_key.rotated', 'key.created', 'account.created', 'account.created'])
  expect(await acts('--limit', '1')).toEqual(['signing_key.rotated'])
  expect(await acts('--account', one.account_id)).toEqual(['key.created', 'account.created'])
  const { stdout, stderr, status } = await line.run(['admin', 'audit', 'list', '--limit', '2'])
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout.split('\n')[0]).toMatch(/^created_at +actor +act +subject +after +account_id +before$/)
  expect(stdout).toContain(`key.created          ${made.key_id}`)
  expect(stdout).toContain('{"permissions":["admin"],"expires_at":null}')
  expect(stdout).not.toContain(made.key)
  for (const limit of ['0', '501', 'x'])
    expect((await line.run(['admin', 'audit', 'list', '--limit', limit])).status).toBe(1)
})
