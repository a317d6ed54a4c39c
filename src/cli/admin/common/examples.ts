// An example for each operator's command, which its help and docs/commands.md show.
import type { Command } from 'commander'

const examples = new WeakMap<Command, string>()

/** Gives a command an example; `rest` is what follows its name. */
export function withExample(command: Command, rest = ''): Command {
  examples.set(command, rest)
  return command.addHelpText('after', () => `\nExample:\n  ${exampleOf(command)}`)
}

/** The example of a command as one types it; null for none. */
export function exampleOf(command: Command): string | null {
  const rest = examples.get(command)
  return rest === undefined ? null : `${nameOf(command)} ${rest}`.trimEnd()
}

function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()
}
