// JSON Schema 2020-12 for catalog files and for the inputs of models, by Ajv.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { JsonObject, JsonValue } from '../core/engine.ts'
import type { CheckedInput } from '../core/model.ts'
import { isMediaReference, mediaReferenceForm } from '../core/media.ts'
import { type SchemaError, toViolations } from '../core/violations.ts'
import { catalogEntrySchema } from './entry.ts'

/** Compiles schemas; equal schemas are compiled once. */
export interface SchemaCompiler {
  /** Holds a catalog entry against its form; all that is wrong, or nothing. */
  checkEntry(entry: unknown): readonly SchemaError[]
  /**
   * Compiles the input schema of a model.
   * @throws Error in words when it is not a schema.
   */
  compileInput(schema: JsonObject): (input: JsonObject) => CheckedInput
  /** The same for a schema that is known to be one: it is compiled when an input comes, and until then costs nothing. */
  compileInputLater(schema: JsonObject): (input: JsonObject) => CheckedInput
}

/** Creates a compiler. */
export function createSchemaCompiler(): SchemaCompiler {
  // To hold a schema against the schema of schemas takes longer than all else here: what we wrote is held against it in tests.
  const ours = createAjv({ validateSchema: false })
  const theirs = createAjv({ validateSchema: true })
  const validateEntry = ours.compile(catalogEntrySchema)
  const compiled = new Map<string, ValidateFunction>()

  function compile(ajv: Ajv2020, schema: JsonObject): ValidateFunction {
    const text = JSON.stringify(schema)
    let validate = compiled.get(text)
    if (!validate) {
      validate = ajv.compile(JSON.parse(text) as JsonObject)
      compiled.set(text, validate)
    }
    return validate
  }

  return {
    checkEntry(entry) {
      return validateEntry(entry) ? [] : (validateEntry.errors ?? [])
    },
    compileInput(schema) {
      const validate = compile(theirs, schema)
      return (input) => checkInput(validate, input)
    },
    compileInputLater(schema) {
      let validate: ValidateFunction | undefined
      return (input) => checkInput((validate ??= compile(ours, schema)), input)
    },
  }
}

function createAjv({ validateSchema }: { validateSchema: boolean }): Ajv2020 {
  // strictTypes and strictRequired refuse schemas that are right but terse; the rest of strict mode catches misspelt keywords.
  const ajv = new Ajv2020({
    allErrors: true,
    useDefaults: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    validateSchema,
  })
  addFormats.default(ajv)
  ajv.addFormat('media', isMediaReference)
  return ajv
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
