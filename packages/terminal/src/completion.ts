// mediagen completion: what a shell needs to complete commands and options.
import { Argument, type Command } from 'commander'

const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** Adds the command; it knows all commands of the program at the time when it runs. */
export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'shell that is to complete').choices(shells))
    .description('Print the completion of commands and options; for bash: source <(mediagen completion bash)')
    .action((shell: Shell) => {
      process.stdout.write(shell === 'fish' ? writeFish(program) : writeBash(program, shell))
    })
}

/** Every command by its words, such as `jobs list`; the program itself is the empty text. */
function listWords(command: Command, words = ''): Map<string, { command: Command; next: string[] }> {
  const next = [
    ...command.commands.map((inner) => inner.name()),
    ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
  ]
  const inner = command.commands.flatMap((one) => [...listWords(one, `${words} ${one.name()}`.trim())])
  return new Map([[words, { command, next }], ...inner])
}

function listOptions({ options }: Command): string[] {
  return [...options.flatMap(({ long }) => (long ? [long] : [])), '--help']
}

function writeBash(program: Command, shell: 'bash' | 'zsh'): string {
  const cases = [...listWords(program)].map(
    ([words, { command, next }]) => `    '${words}') next='${[...next, ...listOptions(command)].join(' ')}' ;;\n`,
  )
  const choices = [...listWords(program)].flatMap(([words, { command }]) =>
    command.options.flatMap(({ long, argChoices = [] }) =>
      argChoices.length === 0 ? [] : [`    '${words} ${long}') next='${argChoices.join(' ')}' ;;\n`],
    ),
  )
  const known = [...listWords(program).keys()].filter(Boolean).map((words) => `'${words}'`)
  const load = shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''
  return `${load}_mediagen() {
  local path='' next='' word longer
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    longer="\${path:+$path }$word"
    case "$longer" in ${known.join('|')}) path="$longer" ;; esac
  done
  case "$path" in
${cases.join('')}  esac
  case "$path \${COMP_WORDS[COMP_CWORD-1]}" in
${choices.join('')}  esac
  COMPREPLY=($(compgen -W "$next" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _mediagen mediagen
`
}

function writeFish(program: Command): string {
  const lines = [...listWords(program)].flatMap(([words, { command, next }]) => {
    const seen = words === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${words.split(' ').at(-1)}`
    const names = next.map((name) => `complete -c mediagen -n '${seen}' -a ${name}`)
    const options = command.options.flatMap(({ long, description, argChoices }) => {
      const values = argChoices ? ` -x -a '${argChoices.join(' ')}'` : ''
      const words = description.replaceAll("'", '')
      return long ? [`complete -c mediagen -n '${seen}' -l ${long.slice(2)}${values} -d '${words}'`] : []
    })
    return [...names, ...options]
  })
  return `${lines.join('\n')}\n`
}
