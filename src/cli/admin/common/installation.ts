// Which installation an operator's command works on: that of this machine, through its data directory, or a server's.
import { styleText } from 'node:util'
import { type Client, createClient } from '@connectrpc/connect'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { AdminService } from '../../../../gen/mediagen/v1/admin_pb.ts'
import { readConfig } from '../../../config.ts'
import { escapeHidden } from '../../../core/text/hidden-characters.ts'
import { findLogin } from '../../user/server.ts'

/** A client of AdminService. */
export type Admin = Client<typeof AdminService>

/** The installation that a command works on, until it is disposed of. */
export interface Installation extends AsyncDisposable {
  readonly admin: Admin
  /** What and where it is, for people. */
  readonly place: string
  /** Whether it is this machine's. */
  readonly isHere: boolean
  /** Turns what a call throws into a sentence for people. */
  explain<Answer>(answer: Promise<Answer>): Promise<Answer>
}

interface Choice {
  readonly url?: string
  readonly local?: true
}

const machineOnly = new WeakSet<Command>()

/** Marks a command that reads files of this machine, and so has no installation elsewhere. */
export function workHere(command: Command): Command {
  machineOnly.add(command)
  return command
}

/** Adds the options that choose the installation. */
export function addInstallationOptions(command: Command): void {
  const url = new Option('--url <url>', 'server to work on (default: MEDIAGEN_URL, or else this machine)')
  if (machineOnly.has(command)) {
    command.addOption(url.argParser(refuse).hideHelp()).hook('preAction', () => {
      if (process.env['MEDIAGEN_URL']) sayPlace('this machine, whatever MEDIAGEN_URL says')
    })
    return
  }
  command
    .addOption(url.conflicts('local'))
    .option('--local', 'work on the installation of this machine, whatever MEDIAGEN_URL says')
}

/** Says in a dim line on which installation a command works. */
export function sayPlace(place: string): void {
  process.stderr.write(`${styleText('dim', `on ${escapeHidden(place)}`, { stream: process.stderr })}\n`)
}

/** Says that the key of an operator can be read on its way to another machine. */
function warnOfCleartext(url: string): void {
  const { protocol, hostname } = new URL(url)
  if (protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname))
    process.stderr.write(`${escapeHidden(url)} is without TLS: whoever is on the way can read the key.\n`)
}

function refuse(): never {
  throw new InvalidArgumentError('This command reads files of this machine; run it on the machine of the server.')
}

/** Opens the installation that the options of a command, or the environment, choose. */
export async function openInstallation(command: Command): Promise<Installation> {
  return (await openChosenServer(command)) ?? openHere()
}

/** The server that they choose; null for this machine. */
export async function openChosenServer(command: Command): Promise<Installation | null> {
  const { url, local } = command.opts<Choice>()
  // Old names of commands have no such option, and work on this machine as they did.
  const canChoose = command.options.some(({ long }) => long === '--local')
  const isHere = url === undefined && (local || !canChoose || !process.env['MEDIAGEN_URL'])
  return isHere ? null : openServer(url)
}

async function openHere(): Promise<Installation> {
  const { createOperatorTransport } = await import('../../../app/operator/operator.ts')
  const { describeDatabase, openExistingStore } = await import('../../../app/store/store.ts')
  const config = readConfig(process.env)
  const store = await openExistingStore(config)
  return {
    admin: createClient(AdminService, createOperatorTransport(store, config)),
    place: `this machine (${await describeDatabase(config)})`,
    isHere: true,
    explain: (answer) => answer,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

async function openServer(url: string | undefined): Promise<Installation> {
  const { createRemoteAdmin, explainRemote } = await import('./remote.ts')
  const login = findLogin({ url, adviceOnKey: 'Set MEDIAGEN_KEY to a key with the permission admin.' })
  warnOfCleartext(login.url)
  const admin = createRemoteAdmin(login)
  return {
    admin,
    place: `${login.url} (key ${login.key.slice(0, 8)}…, from ${login.source})`,
    isHere: false,
    explain: (answer) => explainRemote(answer, admin, login),
    [Symbol.asyncDispose]: async () => {},
  }
}
