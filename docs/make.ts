// Makes the tables of these pages that say what the code says: `npm run docs`. test/docs.test.ts holds the pages against it.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { limitGroups } from '../src/limits.ts'

const head = `# Bounds

Everything that a client can make this server do has a bound, and every bound has a setting: an environment variable, read when the server starts. What goes past a bound is refused in words and loses nothing; refusals are problems (RFC 9457), over gRPC the same codes travel as a detail.

This page is made from \`src/limits.ts\` by \`npm run docs\`.
`

/** docs/limits.md. */
export function describeLimits(): string {
  const groups = Object.entries(limitGroups).map(([title, group]) => {
    const rows = Object.values(group).map(
      ({ env, fallback, help, beyond }) => `| \`${env}\` | \`${fallback}\` | ${help} | ${beyond} |`,
    )
    return rows.length === 0
      ? ''
      : `\n## ${title}\n\n| Setting | Default | What it bounds | What goes past it |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`
  })
  return head + groups.join('')
}

if (import.meta.main) writeFileSync(join(import.meta.dirname, 'limits.md'), describeLimits())
