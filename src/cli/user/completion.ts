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
      process.stdout.write(shell === 'fish' ? writeFish(program) : writeFunction(program, shell))
    })
}

/** The commands within one that its help shows. */
export function listVisible(command: Command): readonly Command[] {
  const visible = command.createHelp().visibleCommands(command)
  return command.commands.filter((inner) => visible.includes(inner))
}

/** Every command by its words, such as `admin jobs list`; the program itself is the empty text. */
function listWords(command: Command, words = ''): Map<string, { command: Command; next: string[] }> {
  const commands = listVisible(command)
  const next = [
    ...commands.map((inner) => inner.name()),
    ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
  ]
  const inner = commands.flatMap((one) => [...listWords(one, `${words} ${one.name()}`.trim())])
  return new Map([[words, { command, next }], ...inner])
}

function listOptions({ options }: Command): string[] {
  return [...options.flatMap(({ long }) => (long ? [long] : [])), '--help']
}

// How a function for completion sees the line, and answers.
const dialects = {
  bash: {
    load: '',
    before: '"${COMP_WORDS[@]:1:COMP_CWORD-1}"',
    last: '${COMP_WORDS[COMP_CWORD-1]}',
    answer: 'COMPREPLY=($(compgen -W "$next" -- "${COMP_WORDS[COMP_CWORD]}"))',
    register: 'complete -o default -F _mediagen mediagen',
  },
  zsh: {
    load: '(( $+functions[compdef] )) || { autoload -U compinit && compinit }\n',
    before: '"${(@)words[2,CURRENT-1]}"',
    last: '${words[CURRENT-1]}',
    answer: 'compadd -- ${=next} || _files',
    register: 'compdef _mediagen mediagen',
  },
} as const

function writeFunction(program: Command, shell: keyof typeof dialects): string {
  const { load, before, last, answer, register } = dialects[shell]
  const cases = [...listWords(program)].map(
    ([words, { command, next }]) => `    '${words}') next='${[...next, ...listOptions(command)].join(' ')}' ;;\n`,
  )
  const choices = [...listWords(program)].flatMap(([words, { command }]) =>
    command.options.flatMap(({ long, argChoices = [] }) =>
      argChoices.length === 0 ? [] : [`    '${words} ${long}') next='${argChoices.join(' ')}' ;;\n`],
    ),
  )
  const known = [...listWords(program).keys()].filter(Boolean).map((words) => `'${words}'`)
  return `${load}_mediagen() {
  local at='' next='' word longer
  for word in ${before}; do
    longer="\${at:+$at }$word"
    case "$longer" in ${known.join('|')}) at="$longer" ;; esac
  done
  case "$at" in
${cases.join('')}  esac
  case "$at ${last}" in
${choices.join('')}  esac
  ${answer}
}
${register}
`
}

function writeFish(program: Command): string {
  const commands = [...listWords(program)]
  const known = commands.flatMap(([words]) => (words === '' ? [] : [`'${words}'`]))
  const lines = commands.flatMap(([words, { command, next }]) => {
    const here = `complete -c mediagen -n "__mediagen_at '${words}'"`
    const names = next.length === 0 ? [] : [`${here} -f -a '${next.join(' ')}'`]
    const options = command.options.flatMap(({ long, description, argChoices }) => {
      const values = argChoices ? ` -x -a '${argChoices.join(' ')}'` : ''
      return long ? [`${here} -l ${long.slice(2)}${values} -d '${description.replaceAll("'", '')}'`] : []
    })
    return [...names, ...options, `${here} -l help -d 'display help'`]
  })
  return `function __mediagen_at
  set -l at ''
  for word in (commandline -opc)[2..]
    set -l longer (string trim -- "$at $word")
    contains -- $longer ${known.join(' ')}; and set at $longer
  end
  test "$at" = "$argv"
end
${lines.join('\n')}
`
}
