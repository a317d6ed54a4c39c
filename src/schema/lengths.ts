// Lengths of texts in JSON Schemas. Ajv counts the characters of each text that has a bound, 10 ns each; here they are counted
// only if the number of UTF-16 units, which is at most twice as large, leaves a doubt.

/** Ajv reads from it why a text does not pass. */
interface Check {
  (text: string): boolean
  errors?: { readonly keyword: string; readonly params: object; readonly message: string }[]
}

interface Keyword {
  readonly keyword: string
  readonly type: 'string'
  readonly schemaType: 'number'
  readonly before: string
  compile(limit: number): Check
}

/** The part of Ajv that this needs. */
interface Keywords {
  removeKeyword(name: string): unknown
  addKeyword(definition: Keyword): unknown
}

/** Makes an Ajv check `maxLength` and `minLength` fast; it answers and says the same as before. */
export function checkLengthsFast<Ajv extends Keywords>(ajv: Ajv): Ajv {
  const rules = [
    ['maxLength', 'more', hasAtMost],
    ['minLength', 'fewer', (text: string, limit: number) => !hasAtMost(text, limit - 1)],
  ] as const
  for (const [keyword, comparison, holds] of rules) {
    ajv.removeKeyword(keyword)
    ajv.addKeyword({
      keyword,
      type: 'string',
      schemaType: 'number',
      // As Ajv orders them, which is the order of violations.
      before: 'pattern',
      compile(limit) {
        const message = `must NOT have ${comparison} than ${limit} characters`
        const check: Check = (text) => {
          if (holds(text, limit)) return true
          // A new one each time, since Ajv writes the path into it.
          check.errors = [{ keyword, params: { limit }, message }]
          return false
        }
        return check
      },
    })
  }
  return ajv
}

/** Whether a text has no more characters (code points) than that. A picture outside the basic plane is one, though two units of UTF-16. */
export function hasAtMost(text: string, characters: number): boolean {
  if (text.length <= characters) return true
  return text.length <= 2 * characters && [...text].length <= characters
}
