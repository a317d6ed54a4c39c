// The values of secrets are removed from texts, in whatever spelling a provider says them.
import { expect, test, vi } from 'vitest'
import { createSecrets } from '../../src/engines/secrets.ts'

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

test('a value that is a spelling of another one is hidden in its own spellings, too', () => {
  const first = 'päßwörd+/?&%'
  const second = encodeURIComponent(first)
  const guarding = createSecrets({ FIRST: first, SECOND: second })
  guarding.valueOf('FIRST')
  guarding.valueOf('SECOND')
  expect(guarding.hide(Buffer.from(second).toString('base64'))).toContain('[SECOND]')
})

test('a value that is read for each of thousands of models is spelled out once', () => {
  const encode = vi.spyOn(globalThis, 'encodeURIComponent')
  try {
    const guarding = createSecrets({ KEY: 'sk-very-secret-0123456789' })
    for (let model = 0; model < 100; model++) guarding.valueOf('KEY')
    expect(encode).toHaveBeenCalledOnce()
  } finally {
    encode.mockRestore()
  }
})
