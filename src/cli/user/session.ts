// Who a user is, and where: login, logout, whoami, config, open.
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { createClient } from '@mediagen/client/client.ts'
import { createHttp } from '@mediagen/client/http.ts'
import type { Account } from '@mediagen/client/records.ts'
import type { Command } from 'commander'
import { StartupError } from '../../core/errors.ts'
import { print, say } from './print.ts'
import { explain, findUrl, keepLogin, loginFile, readLogin, readUrl, usualUrl, withServer } from './server.ts'
import { countCredits } from './words.ts'

// What opens an address in the browser of the person at the machine.
const openers: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['explorer.exe'],
}
const usualOpener = ['xdg-open'] as const

/** Adds the commands. */
export function addSessionCommands(program: Command): void {
  program
    .command('login')
    .description('Sign in to a server: keep its address and your API key')
    .option('--url <url>', 'address of the server', process.env['MEDIAGEN_URL'] || usualUrl)
    .option('--key <key>', 'API key; asked for if it is missing')
    .action(async ({ url, key }: { url: string; key?: string }) => {
      const source = key === undefined ? 'what was typed' : '--key'
      const login = { url: readUrl(url, '--url'), key: key ?? (await askForKey()), source }
      const { available } = await explain(createClient(login).wallet(), login)
      keepLogin(login)
      say(`Signed in at ${login.url}, with ${countCredits(available)} available. (${loginFile()})\n`)
    })
  program
    .command('logout')
    .description(
      'Sign out: forget the address and the API key that “mediagen login” kept; the key itself goes on working',
    )
    .action((_options: object, command: Command) => {
      const { url } = readLogin()
      rmSync(loginFile(), { force: true })
      const isOut = url !== undefined
      if (command.opts()['json']) return void process.stdout.write(`${JSON.stringify({ signed_out: url ?? null })}\n`)
      say(isOut ? `Signed out from ${url}.\n` : 'You were not signed in.\n')
      if (process.env['MEDIAGEN_KEY']) say('MEDIAGEN_KEY is set all the same.\n', process.stderr)
    })
  program
    .command('whoami')
    .description('Show the server, the account and the API key that commands use, and what the key may do')
    .action(
      withServer(async ({ login }, { json }: { json?: boolean }, _command: Command) => {
        const account = await createHttp(login).json<Account>('/v1/account')
        if (json) return { url: login.url, ...account }
        const { key } = account
        return {
          server: login.url,
          account: `${account.name} (${account.account_id})`,
          key: `${key.name ?? key.prefix} (${key.key_id}), from ${login.source}`,
          permissions: key.permissions,
          expires_at: key.expires_at,
        }
      }),
    )
  program
    .command('config')
    .description('Show which server and which key commands use, and where that is set; asks no server')
    .action((_options: object, command: Command) => {
      const kept = readLogin()
      const { url, source } = findUrl()
      const { MEDIAGEN_KEY: given } = process.env
      const key = given || (url === kept.url ? kept.key : undefined)
      const known = { url, url_from: source, key: key ? `${key.slice(0, 8)}…` : null }
      const from = given ? 'MEDIAGEN_KEY' : key ? loginFile() : null
      const config = { ...known, key_from: from, login_file: loginFile() }
      print(config, command.opts()['json'])
    })
  program
    .command('open')
    .description('Open the console of the server in a browser, and print its address')
    .action(async () => {
      const { url } = findUrl()
      say(`${url}/\n`)
      await openBrowser(`${url}/`)
    })
}

/** A machine may have no browser; the address is printed in any case. */
async function openBrowser(address: string): Promise<void> {
  const [program, ...args] = openers[process.platform] ?? usualOpener
  const child = spawn(program, [...args, address], { stdio: 'ignore', detached: true })
  await new Promise<void>((resolve) => {
    child.on('spawn', resolve)
    child.on('error', () => {
      say('There is no program here that opens it.\n', process.stderr)
      resolve()
    })
  })
  child.unref()
}

async function askForKey(): Promise<string> {
  if (!process.stdin.isTTY) throw new StartupError('There is no key: pass --key, or set MEDIAGEN_KEY.')
  const reader = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await reader.question('API key: ')).trim()
  } finally {
    reader.close()
  }
}
