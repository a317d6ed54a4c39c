// The proto files by themselves: buf's rules, and what clients of the released interface rely on. P189.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const buf = join(root, 'node_modules/.bin/buf')

test.each([
  ['lint', ['lint']],
  ['breaking', ['breaking', '--against', 'proto/released.binpb']],
])('buf %s finds nothing', async (_, args) => {
  const { stdout } = await promisify(execFile)(buf, args, { cwd: root })
  expect(stdout).toBe('')
})
