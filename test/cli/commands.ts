// The tree of commands, flat.
import type { Command } from 'commander'
import { listVisible } from '../../src/cli/user/completion.ts'

/** A command with its name as one types it. */
export interface NamedCommand {
  readonly name: string
  readonly command: Command
}

/** Every command that help shows, the program itself among them. */
export function listCommands(command: Command, name = ''): NamedCommand[] {
  return [
    { name, command },
    ...listVisible(command).flatMap((inner) => listCommands(inner, `${name} ${inner.name()}`.trim())),
  ]
}
