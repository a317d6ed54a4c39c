// JSON values as literals of programming languages.
import type { Json } from './records.ts'

/** A value as Python writes it. */
export function toPythonLiteral(value: Json, indent = ''): string {
  if (value === null) return 'None'
  if (value === true) return 'True'
  if (value === false) return 'False'
  // The escapes of JSON are escapes of Python, too.
  if (typeof value !== 'object') return JSON.stringify(value)
  const inner = `${indent}    `
  const parts = Array.isArray(value)
    ? value.map((item) => toPythonLiteral(item, inner))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${toPythonLiteral(item, inner)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (parts.length < 2 && !parts[0]?.includes('\n')) return `${open}${parts.join('')}${close}`
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`
}

/** A value as TypeScript writes it. */
export function toTypeScriptLiteral(value: Json, indent = ''): string {
  if (typeof value === 'string') return toWord(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indent}  `
  const parts = Array.isArray(value)
    ? value.map((item) => toTypeScriptLiteral(item, inner))
    : Object.entries(value).map(([name, item]) => {
        const key = /^[A-Za-z_]\w*$/.test(name) ? name : `[${toWord(name)}]`
        return `${key}: ${toTypeScriptLiteral(item, inner)}`
      })
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const space = Array.isArray(value) || parts.length === 0 ? '' : ' '
  if (parts.length < 2 && !parts[0]?.includes('\n')) return `${open}${space}${parts.join('')}${space}${close}`
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`
}

/** A string in single quotes, where it has none. */
function toWord(text: string): string {
  const quoted = JSON.stringify(text)
  return /['\\]/.test(quoted) ? quoted : `'${text}'`
}
