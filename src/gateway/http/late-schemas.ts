// Schemas of routes, compiled by the first request that needs them. Fastify compiles all of them before it listens: that and the
// libraries that do it are a tenth of the time to start.
import { createRequire } from 'node:module'
import type AjvCompiler from '@fastify/ajv-compiler'
import type SerializerSelector from '@fastify/fast-json-stringify-compiler'
import type { FastifyServerOptions } from 'fastify'

const require = createRequire(import.meta.url)

const buildValidator: AjvCompiler.BuildCompilerFromPool = (...options) => {
  const build = once(() => (require('@fastify/ajv-compiler') as typeof AjvCompiler)()(...options))
  return (...route) => validateLater(() => build()(...route))
}

const buildSerializer: SerializerSelector.SerializerFactory = (...options) => {
  const build = once(() =>
    (require('@fastify/fast-json-stringify-compiler') as typeof SerializerSelector)()(...options),
  )
  return (route) => {
    const serialize = once(() => build()(route))
    return (value) => serialize()(value)
  }
}

/** The compilers of Fastify, late. Schemas of headers must name these in lower case. */
export const lateSchemas: NonNullable<FastifyServerOptions['schemaController']> = {
  compilersFactory: { buildValidator, buildSerializer },
}

type Validate = ReturnType<ReturnType<AjvCompiler.BuildCompilerFromPool>>

function validateLater(compile: () => Validate): Validate {
  const compiled = once(compile)
  const validate = (value: unknown): unknown => {
    const known = compiled()
    const result = known(value)
    // Fastify reads the errors of a refused value where Ajv leaves them: at the function.
    if (result === false) Object.assign(validate, { errors: known.errors })
    return result
  }
  return validate as Validate
}

function once<Result>(make: () => Result): () => Result {
  let made: Result | undefined
  return () => (made ??= make())
}
