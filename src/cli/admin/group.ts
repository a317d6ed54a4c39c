// `mediagen admin`: the commands of operators, and their old names at the top level, which work for one version more.
import { Command } from 'commander'
import { say } from '../user/print.ts'
import { addAccountCommands } from './accounts.ts'
import { addAssetCommands } from './assets.ts'
import { addAuditCommands } from './audit.ts'
import { addInstallationOptions } from './common/installation.ts'
import { addCreditCommands } from './credits.ts'
import { addJobCommands } from './jobs.ts'
import { addKeyCommands } from './keys.ts'
import { addLedgerCommands } from './ledger.ts'
import { addModelCommands } from './models.ts'
import { addProviderCommands } from './providers.ts'
import { addSessionCommands } from './sessions.ts'
import { addWebhookCommands } from './webhooks.ts'

const group = 'admin'
const about = `
They work on the installation of this machine: they read the settings of the server, open its data directory, need no
API key, and work while the server runs. With --url or MEDIAGEN_URL they work on the server at that address instead,
with a key that has the permission admin: MEDIAGEN_KEY, or the one that “mediagen login” kept for it.
What changes something says on which installation. Accounts are named by their id or their name.`

/** Adds `admin` with its commands. */
export function addAdminCommands(program: Command): void {
  const admin = program
    .command(group)
    .description('Manage an installation: accounts, keys, credits, jobs, webhooks, files')
    .configureHelp({
      subcommandTerm: (command) => command.name(),
      subcommandDescription: describeGroup,
    })
    .addHelpText('after', about)
  addAll(admin)
  for (const leaf of listLeaves(admin)) addInstallationOptions(leaf)
}

/** The description of a group, with what is in it. */
function describeGroup(command: Command): string {
  const names = command.commands.map((inner) => inner.name())
  return names.length === 0 ? command.description() : `${command.description()} (${names.join(', ')})`
}

function addAll(parent: Command): void {
  addAccountCommands(parent)
  addKeyCommands(parent)
  addSessionCommands(parent)
  addCreditCommands(parent)
  addJobCommands(parent)
  addLedgerCommands(parent)
  addAuditCommands(parent)
  addWebhookCommands(parent)
  addAssetCommands(parent)
  addModelCommands(parent)
  addProviderCommands(parent)
}

/**
 * Adds the commands under the names that they had before they were under `admin`, where help and completion do not show them.
 * They work on this machine only, as they did.
 */
export function addOldNames(program: Command): void {
  const old = new Command()
  addAll(old)
  for (const command of old.commands) {
    for (const leaf of listLeaves(command)) leaf.hook('preAction', () => sayNewName(leaf))
    const users = program.commands.find((one) => one.name() === command.name())
    if (users) for (const inner of command.commands) users.addCommand(inner, { hidden: true })
    else program.addCommand(command, { hidden: true })
  }
}

function sayNewName(leaf: Command): void {
  const name = `${leaf.parent?.name()} ${leaf.name()}`
  say(`“mediagen ${name}” is now “mediagen ${group} ${name}”; the next version has only that.\n`, process.stderr)
}

/** The commands that have an action, without those that only group others. */
export function listLeaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(listLeaves)
}
