// The operator's commands, with and without --json, beside a server that runs, and what they refuse (P86).
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { isPostgres, tamper } from '../test-store.ts'
import { createTestAccount, openClient, openCommandLine, watchEnd } from './command-line.ts'

const largest = 2 ** 53 - 1

const noLimits = {
  per_start: null,
  daily: null,
  weekly: null,
  monthly: null,
  total: null,
  models: [],
  origins: [],
  extra: null,
}

test('accounts are created and listed', async () => {
  await using line = openCommandLine()
  const made = await line.json(['admin', 'accounts', 'create', '--name', 'Ada & Söhne', '--credits', '12'])
  expect(made).toEqual({
    account_id: expect.stringMatching(/^acct_/),
    name: 'Ada & Söhne',
    available: 12,
    held: 0,
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    limits: noLimits,
    status: 'active',
    status_reason: null,
    status_changed_at: null,
  })
  const rich = await line.json(['admin', 'accounts', 'create', '--name', 'rich', '--credits', String(largest)])
  expect(rich.available).toBe(largest)
  expect(await line.json(['admin', 'accounts', 'list'])).toEqual([rich, made])
  const { status, stdout, stderr } = await line.run(['admin', 'accounts', 'list'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout.split('\n')[0]).toMatch(/^account_id +name +status +available +held +created_at +limits /)
  expect(stdout).toContain(made.account_id)
})

test('P312, P313: an account is renamed, frozen, unfrozen and closed', async () => {
  await using line = openCommandLine()
  const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'Ada', '--credits', '12'])
  await line.json(['admin', 'keys', 'create', '--account', account_id, '--permissions', 'generate'])
  expect(await line.json(['admin', 'accounts', 'rename', account_id, '--name', 'Ada L.'])).toMatchObject({
    name: 'Ada L.',
  })
  expect(await line.json(['admin', 'accounts', 'freeze', account_id, '--reason', 'unpaid'])).toMatchObject({
    status: 'frozen',
    status_reason: 'unpaid',
    status_changed_at: expect.stringMatching(/Z$/),
  })
  const refused = await line.run(['admin', 'keys', 'create', '--account', account_id, '--permissions', 'generate'])
  expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('frozen by the operator')])
  expect(await line.json(['admin', 'accounts', 'unfreeze', account_id])).toMatchObject({ status: 'active' })
  expect(await line.json(['admin', 'accounts', 'close', account_id, '--reason', 'gone'])).toMatchObject({
    status: 'closed',
    available: 12,
    revoked_keys: 1,
  })
  const again = await line.run(['admin', 'accounts', 'unfreeze', account_id])
  expect([again.status, again.stderr]).toEqual([1, expect.stringContaining('is closed, and stays as it is')])
  for (const command of ['freeze', 'close'])
    expect((await line.run(['admin', 'accounts', command, account_id])).stderr).toContain('--reason')
})

test('a process of its own ends with its command, and a reader that has seen enough gets no stack trace', async () => {
  await using line = openCommandLine()
  await line.run(['migrate'])
  const child = await line.start(['admin', 'accounts', 'list', '--json'])
  child.stdout?.destroy()
  expect(await watchEnd(child)).toMatchObject({ stderr: '', status: 0 })
})

test('keys are created, listed without their text, expire and are revoked', async () => {
  await using line = openCommandLine()
  const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'a'])
  const made = await line.json([
    'admin',
    'keys',
    'create',
    '--account',
    account_id,
    '--permissions',
    'generate, models:read',
    '--expires-in',
    '30d',
  ])
  expect(made).toMatchObject({
    key_id: expect.stringMatching(/^key_/),
    account_id,
    permissions: ['generate', 'models:read'],
    revoked_at: null,
    key: expect.stringMatching(/^mgk_[0-9A-Za-z]{43}$/),
  })
  expect((Date.parse(made.expires_at) - Date.now()) / 86_400_000).toBeCloseTo(30, 1)
  const { key, ...shown } = made
  expect(await line.json(['admin', 'keys', 'list', '--account', account_id])).toEqual([shown])
  const listed = await line.run(['admin', 'keys', 'list'])
  expect(listed.stdout).toMatch(/^key_id +name +account +state +last_used_at +prefix /)
  expect(listed.stdout).toContain(made.key_id)
  expect(listed.stdout).not.toContain(key)
  const revoked = await line.json(['admin', 'keys', 'revoke', made.key_id])
  expect(revoked).toEqual({ ...shown, revoked_at: expect.any(String) })
  expect(await line.json(['admin', 'keys', 'revoke', made.key_id]), 'revoking twice keeps the first time').toEqual(
    revoked,
  )
  const args = ['admin', 'keys', 'create', '--account', account_id, '--permissions', 'admin']
  expect((await line.run(args)).stdout, 'KEY=$(…) takes it as it is').toMatch(/^mgk_[0-9A-Za-z]{43}\n$/)
  expect((await line.run([...args, '--json'])).stdout, 'before its prefix').toMatch(/^\{"key":"mgk_[0-9A-Za-z]{43}",/)
})

test('credits are granted and adjusted, and the ledger is verified', async () => {
  await using line = openCommandLine()
  const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'a'])
  expect(
    (await line.json(['admin', 'credits', 'grant', '--account', account_id, '--credits', '10', '--note', 'paid']))
      .available,
  ).toBe(10)
  expect(
    (await line.json(['admin', 'credits', 'adjust', '--account', account_id, '--credits=-4', '--note', 'mistake']))
      .available,
  ).toBe(6)
  expect(await line.json(['admin', 'ledger', 'verify'])).toEqual({
    ok: true,
    accounts: 1,
    entries: 2,
    jobs: 0,
    root: expect.stringMatching(/^[0-9a-f]{64}$/),
    problems: [],
  })
  const words = await line.run(['admin', 'ledger', 'verify'])
  expect(words).toMatchObject({ status: 0, stderr: '' })
  expect(words.stdout).toMatch(/^The ledger is in order: checked 1 account, 2 entries, 0 jobs\.\nroot [0-9a-f]{64}\n$/)
})

test('P291: `ledger verify` of a ledger that was changed past the server ends with 1, and names the entry', async () => {
  await using line = openCommandLine()
  const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'a', '--credits', '5'])
  await tamper(line.dataDir, 'UPDATE ledger_entries SET created_at = created_at + 1')
  const { status, stdout } = await line.run(['admin', 'ledger', 'verify'])
  expect(status).toBe(1)
  expect(stdout).toMatch(/^The ledger is wrong: .*\nroot [0-9a-f]{64}\n/)
  expect(stdout).toContain(`account ${account_id}, entry 1 (entry_`)
})

test('a grant with a reference is made once, and says so', async () => {
  await using line = openCommandLine()
  const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'a'])
  const grant = ['admin', 'credits', 'grant', '--account', account_id, '--credits', '5', '--reference', 'pay 1']
  const first = await line.json(grant)
  const entry_id = expect.stringMatching(/^entry_/)
  expect(first).toMatchObject({ account_id, available: 5, reference: 'pay 1', replayed: false, entry_id })
  expect(await line.json(grant)).toEqual({ ...first, replayed: true })
  const words = await line.run(grant)
  expect(words.stdout).toMatch(/^Granted before, \d{4}-.*Z; nothing was changed\. a \(acct_\w+\): 5 available\.\n$/)
  for (const [changed, refusal] of [
    [['--credits', '6'], /The reference "pay 1" belongs to a grant of 5 credits/],
    [['--reference', ' pay'], /\/reference must have 1 to 128 printable ASCII characters/],
  ] as const) {
    const { status, stderr } = await line.run([...grant, ...changed])
    expect([status, stderr]).toEqual([1, expect.stringMatching(refusal)])
  }
  expect(await line.json(['admin', 'accounts', 'list'])).toMatchObject([{ available: 5 }])
  expect((await line.json(['admin', 'ledger', 'verify'])).ok).toBe(true)
})

test('the quote key is rotated', async () => {
  await using line = openCommandLine()
  const { key_number } = await line.json(['admin', 'quotes', 'rotate-key'])
  expect((await line.json(['admin', 'quotes', 'rotate-key'])).key_number).toBe(key_number + 1)
})

test('models are listed with why one is not ready, and catalogs are checked', async () => {
  await using line = openCommandLine()
  const models: { id: string; ready: boolean; reason: string | null }[] = await line.json(['admin', 'models', 'list'])
  expect(models.find(({ id }) => id === 'test/instant/text-to-image')).toMatchObject({ ready: true, reason: null })
  const unready = models.find(({ id }) => id === 'test/unready/video-to-video')
  expect(unready).toMatchObject({ ready: false, reason: expect.stringContaining('no-such-program-anywhere') })
  expect((await line.run(['admin', 'models', 'list'])).stdout).toContain('test/unready/video-to-video')
  expect(await line.json(['admin', 'models', 'check'])).toEqual({
    ok: true,
    models: models.length,
    ending: [
      {
        id: 'test/ended/text-to-image',
        words: 'ended on 2026-01-31; use test/instant/text-to-image',
        shutdown_date: '2026-01-31',
        replaced_by: 'test/instant/text-to-image',
      },
    ],
  })
})

test('the commands work while a server runs on the same data: it sees credits and refuses a revoked key within a second', async () => {
  await using line = openCommandLine()
  const { accountId, keyId, key } = await createTestAccount(line)
  await using server = await startTestApp({ MEDIAGEN_DATA_DIR: line.dataDir })
  const client = openClient(server.url, key)
  expect((await client.send('/v1/wallet')).body).toEqual({ available: 1000, held: 0 })
  await line.json(['admin', 'credits', 'grant', '--account', accountId, '--credits', '5'])
  expect((await client.send('/v1/wallet')).body).toEqual({ available: 1005, held: 0 })
  const fresh = await line.json(['admin', 'keys', 'create', '--account', accountId, '--permissions', 'wallet:read'])
  expect((await openClient(server.url, fresh.key).send('/v1/wallet')).status).toBe(200)
  await line.json(['admin', 'keys', 'revoke', keyId])
  await expect.poll(async () => (await client.send('/v1/wallet')).status).toBe(401)
  const { body } = await openClient(server.url, fresh.key).send('/v1/wallet')
  expect(body.available).toBe(1005)
  expect((await line.json(['admin', 'ledger', 'verify'])).ok).toBe(true)
})

test('a key that may start jobs and not wait for them comes with a word about it', async () => {
  await using line = openCommandLine()
  const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'a'])
  const create = async (permissions: string): Promise<string> =>
    (await line.run(['admin', 'keys', 'create', '--account', account_id, '--permissions', permissions])).stderr
  expect(await create('generate,models:read')).toContain('that needs jobs:read as well')
  expect(await create('generate,jobs:read')).not.toContain('needs')
  expect(await create('models:read')).not.toContain('needs')
})

test('a key is limited when it is made and later, in words that a table shows; patterns that match nothing are said (P226)', async () => {
  await using line = openCommandLine()
  const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'a'])
  const order = ['admin', 'keys', 'create', '--account', account_id, '--permissions', 'generate', '--json']
  const made = await line.run([...order, '--daily', '5', '--models', 'nothing/*,acme'])
  expect(made.stderr).toContain('No model of the catalog matches nothing/*, acme. It is kept all the same.')
  const { key_id, limits } = JSON.parse(made.stdout)
  expect(limits).toEqual({ ...noLimits, daily: 5, models: ['nothing/*', 'acme'] })
  const change = ['--daily', 'none', '--models', 'none', '--monthly', '7', '--extra', '3', '--until', '2999-12-31']
  const { stdout } = await line.run(['admin', 'keys', 'limit', key_id, ...change])
  expect(stdout).toBe(`Limits of the key ${key_id}: 7 a month; 3 more until 2999-12-31T00:00:00.000Z.\n`)
  expect((await line.json(['admin', 'accounts', 'limit', account_id, '--total', '9'])).limits).toEqual({
    ...noLimits,
    total: 9,
  })
})

test('P347: an account is named by its name, too; a name of several is refused with their ids, and nothing is changed', async () => {
  await using line = openCommandLine()
  const create = (name: string) => line.json(['admin', 'accounts', 'create', '--name', name, '--credits', '1'])
  const [press, studio, same] = [await create('Press office'), await create('Studio'), await create('Studio')]
  const upper = await create('STUDIO')
  const grant = (account: string) => line.run(['admin', 'credits', 'grant', '--account', account, '--credits', '2'])
  expect((await grant('press office')).stdout).toBe(
    `Granted 2 credits to Press office (${press.account_id}): 3 available.\n`,
  )
  // As it is written, before other cases.
  expect((await grant('STUDIO')).stdout).toContain(`to STUDIO (${upper.account_id})`)
  for (const [name, words] of [
    ['Studio', `2 accounts are called "Studio"; give an id: ${same.account_id}, ${studio.account_id}.`],
    ['studio', '3 accounts are called "studio"'],
    ['Studi', 'There is no account "Studi"'],
    ['', 'There is no account ""'],
  ] as const)
    expect(await grant(name)).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining(words) })
  const balances: { available: number }[] = await line.json(['admin', 'accounts', 'list'])
  expect(balances.map(({ available }) => available)).toEqual([3, 1, 1, 3])
  // Everywhere where an account is named.
  const order = ['--permissions', 'generate,jobs:read', '--json']
  const key = await line.json(['admin', 'keys', 'create', '--account', 'Press Office', ...order])
  expect(key.account_id).toBe(press.account_id)
  expect(await line.json(['admin', 'keys', 'list', '--account', 'Press Office'])).toHaveLength(1)
  expect((await line.json(['admin', 'accounts', 'limit', 'Press office', '--daily', '1'])).limits.daily).toBe(1)
  for (const list of [
    ['jobs', 'list'],
    ['audit', 'list'],
    ['webhooks', 'list'],
    ['webhooks', 'deliveries'],
  ])
    expect((await line.run(['admin', ...list, '--account', 'Studio'])).stderr, list[0]).toContain(
      '2 accounts are called',
    )
})

test('a table fits a terminal of 80 columns, is whole with --wide, and through a pipe', async () => {
  await using line = openCommandLine()
  const name = 'An office with a name that is longer than most names that offices have'
  const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', name, '--credits', '1234567'])
  await line.json(['admin', 'keys', 'create', '--account', account_id, '--permissions', 'admin', '--name', name])
  const { isTTY, columns } = process.stdout
  const look = async (list: string, ...options: string[]) => {
    Object.assign(process.stdout, { isTTY: true, columns: 80 })
    const { stdout } = await line.run(['admin', list, 'list', ...options])
    Object.assign(process.stdout, { isTTY, columns })
    return stdout
  }
  for (const list of ['accounts', 'keys', 'audit', 'jobs', 'webhooks']) {
    const lines = (await look(list)).split('\n')
    expect(Math.max(...lines.map(({ length }) => length)), lines.join('\n')).toBeLessThanOrEqual(80)
    const whole = await line.run(['admin', list, 'list'])
    expect(await look(list, '--wide')).toBe(whole.stdout)
    expect(whole.stdout).not.toContain('…')
  }
  expect(await look('accounts')).toMatch(
    new RegExp(`^${account_id} +An offi.*… +active +1,234,567 +0 +\\d+[sm] ago`, 'm'),
  )
  expect((await line.run(['admin', 'accounts', 'list'])).stdout).toMatch(
    new RegExp(`${name} +active +1234567 .*T.*Z `, 'm'),
  )
})

/** Commands that are refused, and what the refusal says. */
const refusals: readonly [name: string, args: readonly string[], words: RegExp][] = [
  [
    'a key for an unknown account',
    ['admin', 'keys', 'create', '--account', 'acct_none', '--permissions', 'generate'],
    /no account "acct_none"/,
  ],
  [
    'a key with an unknown permission',
    ['admin', 'keys', 'create', '--account', 'a', '--permissions', 'generate,fly'],
    /"fly".*generate, models:read, jobs:read, wallet:read, webhooks, keys:write, admin/,
  ],
  ['a key with no permission', ['admin', 'keys', 'create', '--account', 'a', '--permissions', ''], /permissions/],
  [
    'a key with an odd expiry',
    ['admin', 'keys', 'create', '--account', 'a', '--permissions', 'admin', '--expires-in', 'soon'],
    /30d/,
  ],
  [
    'a key that expires beyond all time',
    ['admin', 'keys', 'create', '--account', 'a', '--permissions', 'admin', '--expires-in', '99999999999d'],
    /at most 36500d/,
  ],
  ['a limit that is no whole number', ['admin', 'keys', 'limit', 'key_x', '--daily', '1.5'], /whole number of credits/],
  ['a limit of an unknown key', ['admin', 'keys', 'limit', 'key_none', '--daily', '1'], /no key "key_none"/],
  ['no limit to change', ['admin', 'keys', 'limit', 'key_x'], /Name a limit to change, such as --daily 100/],
  [
    'extra credits without an end',
    ['admin', 'keys', 'limit', 'key_x', '--extra', '5'],
    /--extra and --until belong together/,
  ],
  [
    'extra credits until last year',
    ['admin', 'accounts', 'limit', 'acct_x', '--extra', '5', '--until', '2025-01-01'],
    /extra\/until must lie in the future/,
  ],
  ['revoking an unknown key', ['admin', 'keys', 'revoke', 'key_none'], /no key "key_none"/],
  ['an account without a name', ['admin', 'accounts', 'create'], /--name/],
  ['an account with an empty name', ['admin', 'accounts', 'create', '--name', ''], /name is required/],
  ['an account with a name that is too long', ['admin', 'accounts', 'create', '--name', 'x'.repeat(201)], /200/],
  [
    'negative credits',
    ['admin', 'accounts', 'create', '--name', 'a', '--credits', '-5'],
    /whole number of credits, 0 or more/,
  ],
  [
    'credits above 2^53 - 1',
    ['admin', 'accounts', 'create', '--name', 'a', '--credits', '9007199254740992'],
    /2\^53 - 1/,
  ],
  [
    'credits above int64',
    ['admin', 'accounts', 'create', '--name', 'a', '--credits', '99999999999999999999'],
    /2\^53 - 1/,
  ],
  ['a broken number of credits', ['admin', 'accounts', 'create', '--name', 'a', '--credits', '1.5'], /whole number/],
  [
    'a grant to an unknown account',
    ['admin', 'credits', 'grant', '--account', 'acct_none', '--credits', '1'],
    /no account "acct_none"/,
  ],
  ['a grant of nothing', ['admin', 'credits', 'grant', '--account', 'acct_a', '--credits', '0'], /1 to 2\^53 - 1/],
  [
    'a grant above 2^53 - 1',
    ['admin', 'credits', 'grant', '--account', 'acct_a', '--credits', '9007199254740993'],
    /2\^53 - 1/,
  ],
  ['an adjustment without a note', ['admin', 'credits', 'adjust', '--account', 'a', '--credits', '1'], /--note/],
  ['an unknown command', ['fly'], /unknown command/],
  ['an unknown option', ['admin', 'accounts', 'list', '--fly'], /unknown option/],
]

test('what makes no sense is refused in words, with exit status 1 and nothing done', async () => {
  await using line = openCommandLine()
  await line.run(['migrate'])
  for (const [index, [name, args, words]] of refusals.entries()) {
    // One in a process of its own, which ends with the status.
    const { status, stdout, stderr } = await (index === 0 ? line.spawn(args) : line.run(args))
    expect.soft({ status, stdout }, `${name}: ${stderr}`).toEqual({ status: 1, stdout: '' })
    expect.soft(stderr, name).toMatch(words)
    expect.soft(stderr, name).not.toMatch(/^\s+at /m)
  }
  expect(await line.json(['admin', 'accounts', 'list'])).toEqual([])
})

test('a balance cannot fall below zero or rise above 2^53 - 1', async () => {
  await using line = openCommandLine()
  const { account_id } = await line.json(['admin', 'accounts', 'create', '--name', 'a', '--credits', String(largest)])
  const more = await line.run(['admin', 'credits', 'grant', '--account', account_id, '--credits', '1'])
  expect(more.status).toBe(1)
  expect(more.stderr).toMatch(/2\^53 - 1.*Nothing was changed/)
  await line.json([
    'admin',
    'credits',
    'adjust',
    '--account',
    account_id,
    `--credits=-${largest}`,
    '--note',
    'all of it',
  ])
  const less = await line.run(['admin', 'credits', 'adjust', '--account', account_id, '--credits=-1', '--note', 'x'])
  expect(less.status).toBe(1)
  expect(less.stderr).toMatch(/\nmediagen: The credits would bring the balance out of range.*available now: 0/)
})

// Over PostgreSQL, commands make none.
test.skipIf(isPostgres)('the data directory is readable for its user alone', async () => {
  await using line = openCommandLine()
  await line.run(['migrate'])
  await createTestAccount(line)
  // Forked processes with a user of their own pass through it to their folders, and may not list it.
  expect(statSync(line.dataDir).mode & 0o777).toBe(0o711)
  expect(statSync(join(line.dataDir, 'mediagen.db')).mode & 0o777).toBe(0o600)
})
