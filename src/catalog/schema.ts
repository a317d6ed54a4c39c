// JSON Schema 2020-12 for catalog files and for the inputs of models, by Ajv, which is loaded with the first schema.
import { createRequire } from 'node:module'
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import type addFormats from 'ajv-formats'
import type * as Ajv from 'ajv/dist/2020.js'
import { isMultiple } from '../core/fraction.ts'
import { isMediaReference, mediaReferenceForm } from '../files/media/reference.ts'
import { checkLengthsFast } from '../schema/lengths.ts'
import { type SchemaError, toViolations } from '../schema/violations.ts'
import { createEntrySchema, createProvidersSchema, type EngineKind } from './entry.ts'
import type { CheckedInput } from './model.ts'

const require = createRequire(import.meta.url)

type Ajv2020 = Ajv.Ajv2020
type ValidateFunction = Ajv.ValidateFunction

/** Compiles schemas; equal schemas are compiled once. */
export interface SchemaCompiler {
  /** Validates a catalog entry; returns every violation. */
  checkEntry(entry: unknown): readonly SchemaError[]
  /** Validates the `providers` of a file; returns every violation. */
  checkProviders(providers: unknown): readonly SchemaError[]
  /**
   * Compiles the input schema of a model.
   * @throws Error that says why it is not a schema.
   */
  compileInput(schema: JsonObject): (input: JsonObject) => CheckedInput
  /** The same for a schema that is known to be valid: it is compiled when an input arrives, and costs nothing until then. */
  compileInputLater(schema: JsonObject): (input: JsonObject) => CheckedInput
}

// Compiling these is the slowest step here, so it happens when a catalog first needs them, once per process.
const entryForms = new Map<string, ValidateFunction>()
let schemaForm: Ajv2020 | undefined

/** Creates a compiler; entries may name the given kinds of engines. */
export function createSchemaCompiler(kinds: readonly EngineKind[]): SchemaCompiler {
  let own: Ajv2020 | undefined
  const ajv = (): Ajv2020 => (own ??= createAjv())
  let validateProviders: ValidateFunction | undefined
  const compiled = new Map<string, ValidateFunction>()

  function compile(schema: JsonObject, check: boolean): ValidateFunction {
    const text = JSON.stringify(schema)
    let validate = compiled.get(text)
    if (!validate) {
      if (check) void (schemaForm ??= createAjv()).validateSchema(schema, true)
      validate = ajv().compile(JSON.parse(text) as JsonObject)
      compiled.set(text, validate)
    }
    return validate
  }

  return {
    checkEntry(entry) {
      const validate = compileEntryForm(ajv(), kinds, (entry as { engine?: { kind?: unknown } } | null)?.engine?.kind)
      return validate(entry) ? [] : (validate.errors ?? [])
    },
    checkProviders(providers) {
      validateProviders ??= ajv().compile(createProvidersSchema(kinds))
      return validateProviders(providers) ? [] : (validateProviders.errors ?? [])
    },
    compileInput(schema) {
      const validate = compile(schema, true)
      return (input) => checkInput(validate, input)
    },
    compileInputLater(schema) {
      let validate: ValidateFunction | undefined
      return (input) => checkInput((validate ??= compile(schema, false)), input)
    },
  }
}

/** Only the settings of the entry's own kind are compiled: those of remote engines are large. */
function compileEntryForm(ajv: Ajv2020, kinds: readonly EngineKind[], kind: unknown): ValidateFunction {
  const described = kinds.filter((other) => other.kind === kind)
  const names = JSON.stringify([kinds.map((other) => other.kind), described.map(({ schema }) => schema)])
  const form = entryForms.get(names) ?? ajv.compile(createEntrySchema(kinds, described))
  entryForms.set(names, form)
  return form
}

function createAjv(): Ajv2020 {
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof Ajv
  const formats = require('ajv-formats') as typeof addFormats
  // strictTypes and strictRequired refuse valid but terse schemas; the rest of strict mode catches misspelt keywords.
  const ajv = new Ajv2020({
    allErrors: true,
    // An error brings its schema, whose fields are suggested for a misspelt one.
    verbose: true,
    useDefaults: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    // Only catalogs of others are validated against the meta-schema; tests do that for the built-in ones.
    validateSchema: false,
  })
  formats.default(ajv)
  ajv.addFormat('media', isMediaReference)
  ajv.addVocabulary(['x-enum-titles', 'x-enum-descriptions', 'x-enum-samples', 'x-advanced'])
  return checkMultiplesExactly(checkLengthsFast(ajv))
}

/** Ajv divides doubles, so 0.3 is no multiple of 0.1 to it. */
function checkMultiplesExactly(ajv: Ajv2020): Ajv2020 {
  ajv.removeKeyword('multipleOf')
  return ajv.addKeyword({
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    compile(step: number) {
      const check: { (number: number): boolean; errors?: Partial<Ajv.ErrorObject>[] } = (number) => {
        if (isMultiple(number, step)) return true
        check.errors = [{ keyword: 'multipleOf', params: { multipleOf: step }, message: `must be multiple of ${step}` }]
        return false
      }
      return check
    },
  })
}

function checkInput(validate: ValidateFunction, input: JsonObject): CheckedInput {
  // Validation writes the defaults into what it is given.
  const completed = copyObject(input)
  if (validate(completed)) return { ok: true, input: completed }
  return { ok: false, violations: toViolations(validate.errors ?? [], '/input').map(explainMedia) }
}

function copyObject(object: JsonObject): JsonObject {
  const copy = { ...object }
  for (const name in copy) copy[name] = copyValue(copy[name] as JsonValue)
  return copy
}

function copyValue(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  return Array.isArray(value) ? value.map(copyValue) : copyObject(value)
}

function explainMedia<Violation extends { detail: string }>(violation: Violation): Violation {
  return violation.detail === 'must match format "media"' ? { ...violation, detail: mediaReferenceForm } : violation
}
