// The values of secrets are removed from texts, in whatever spelling a provider says them.
import { expect, test } from 'vitest'
import { createSecrets } from '../src/secrets.ts'

test.each(['sk-very-secret-0123456789', 'päßwörd+/?&%', '123456', 'a"b\\c d\n!', 'sk-of-a-file\n'])(
  '%j is hidden',
  (value) => {
    const guarding = createSecrets({ KEY: value })
    guarding.valueOf('KEY')
    for (const before of ['', 'a', 'ab', 'abc'])
      for (const after of ['', 'x', 'xy'])
        for (const spelled of [
          before + value + after,
          `https://x.test/?k=${encodeURIComponent(before + value + after)}`,
          JSON.stringify(before + value + after),
          Buffer.from(before + value + after).toString('base64'),
          Buffer.from(before + value + after).toString('base64url'),
        ]) {
          const hidden = guarding.hide(`says ${spelled}.`)
          expect(hidden).toContain('[KEY]')
          expect(hidden).not.toContain(value)
        }
    expect(guarding.hide(`says ${value.trim()}.`)).toContain('[KEY]')
    expect(guarding.hide('nothing of it')).toBe('nothing of it')
  },
)
