// The tree of commands, flat.
import type { Command } from 'commander'

/** A command with its name as one types it. */
export interface NamedCommand {
  readonly name: string
  readonly command: Command
}

/** Every command, the program itself among them. */
export function listCommands(command: Command, name = ''): NamedCommand[] {
  return [
    { name, command },
    ...command.commands.flatMap((inner) => listCommands(inner, `${name} ${inner.name()}`.trim())),
  ]
}
