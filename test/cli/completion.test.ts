// What mediagen completion prints, loaded by the shells themselves: bash, and zsh and fish where they are installed.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openCommandLine } from './command-line.ts'

// Prints what each line becomes when Tab is pressed at its end, in a zsh with a terminal.
const pressTab = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'source ./setup'
for line in "$@"; do
  zpty -w -n shell "$line"$'\\t'
  zpty -r shell out '*=\\[*\\]=*'
  print -r -- \${\${out##*=\\[}%%\\]=*}
done
`
const setup = `
autoload -U compinit; compinit -u -D
source ./completion
show() { zle complete-word; print -r -- "=[$BUFFER]="; BUFFER= }
zle -N show; bindkey '^I' show
`

/** What a shell makes of lines, in a folder with the completion. */
const completers: Readonly<Record<string, (lines: readonly string[], folder: string) => readonly string[]>> = {
  bash(lines, folder) {
    const complete = `
source ./completion
for line in "$@"; do
  COMP_WORDS=($line); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _mediagen
  unset 'COMP_WORDS[COMP_CWORD]'; echo "\${COMP_WORDS[*]} \${COMPREPLY[*]}"
done`
    return run('bash', ['-c', complete, 'bash', ...lines], folder)
  },
  zsh(lines, folder) {
    writeFileSync(join(folder, 'setup'), setup)
    return run('zsh', ['-f', '-c', pressTab, 'zsh', ...lines], folder)
  },
  fish: (lines, folder) =>
    lines.map((line) => {
      const found = run('fish', ['--no-config', '-c', `source ./completion; complete -C '${line}'`], folder)
      return `${line.slice(0, line.lastIndexOf(' '))} ${found.map((one) => one.split('\t')[0]).join(' ')}`
    }),
}

function run(shell: string, args: readonly string[], cwd: string): readonly string[] {
  const text = execFileSync(shell, args, { cwd, encoding: 'utf8', env: { PATH: process.env['PATH'], HOME: cwd } })
  return text.replaceAll('\r', '').trim().split('\n')
}

const lines: Readonly<Record<string, string>> = {
  'mediagen gen': 'mediagen generate',
  'mediagen admin jobs re': 'mediagen admin jobs resolve',
  'mediagen generate --max': 'mediagen generate --max-credits',
  'mediagen jobs --status f': 'mediagen jobs --status failed',
  'mediagen admin webhooks deliveries --status del': 'mediagen admin webhooks deliveries --status delivered',
  'mediagen admin jobs list --s': 'mediagen admin jobs list --status',
  'mediagen admin models import --ba': 'mediagen admin models import --base-url',
  'mediagen completion z': 'mediagen completion zsh',
}

for (const [shell, complete] of Object.entries(completers)) {
  const missing = isThere(shell) ? '' : ` (SKIPPED: ${shell} is not installed)`
  if (missing) console.warn(`SKIPPED the test of completion in ${shell}: install it (apt-get install ${shell}).`)
  test.skipIf(missing)(`${shell} completes commands, their subcommands, options and choices${missing}`, async () => {
    await using line = openCommandLine()
    writeFileSync(join(line.folder, 'completion'), (await line.run(['completion', shell])).stdout)
    const completed = complete(Object.keys(lines), line.folder).map((text) => text.trim())
    expect(completed).toEqual(Object.values(lines))
  })
}

function isThere(shell: string): boolean {
  try {
    execFileSync(shell, ['-c', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
