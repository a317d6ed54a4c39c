// The settings of a command model, checked, and the program that they name: where it is, its arguments, its environment.

import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import type { EngineSpec } from '@mediagen/engine/engine.ts'
import { type ProgramLimits, whyNotLimited } from '@mediagen/engine/limited-program.ts'
import { parseProgramLimits } from '@mediagen/engine/program-limits.ts'

/** A program as it will be started. */
export interface Program {
  /** The name in the catalog; the only one that a customer may see. */
  readonly name: string
  /** Absolute path of the executable file. */
  readonly path: string
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** Limits of the entry, and of the server for what it does not limit. */
  readonly limits: ProgramLimits
}

/** Variables that a program is given from the server's own environment; everything else, secrets above all, stays here. */
const inherited = ['PATH', 'HOME', 'LANG', 'TMPDIR']

/**
 * Finds the program that `spec.run` names. A program with a slash is a path, resolved against `spec.base_folder` (the
 * folder of the catalog file; the server's own working directory when absent); one without is looked up on PATH.
 * An argument that names an existing file relative to that folder becomes its absolute path, since the program itself
 * works in the job's folder; every other argument is passed on as it is written.
 * @param environment the server's environment, of which only PATH, HOME, LANG and TMPDIR are handed on
 * @param usualLimits limits of programs whose spec has none of its own, by limit
 * @returns the program, or in words why it cannot be started. Reads the file system synchronously.
 */
export function findProgram(
  spec: EngineSpec,
  environment: Readonly<Record<string, string | undefined>>,
  usualLimits: ProgramLimits = {},
): Program | string {
  const { run, env = {}, base_folder: baseFolder = process.cwd() } = spec
  if (!isStringList(run)) return 'engine.run must be a list of strings: the program, then its arguments'
  if (typeof baseFolder !== 'string') return 'engine.base_folder must be a string'
  const ownLimits = parseProgramLimits(spec['limits'] ?? {})
  if (typeof ownLimits === 'string') return `engine.limits: ${ownLimits}`
  const limits = { ...usualLimits, ...ownLimits }
  const why = whyNotLimited(limits)
  if (why !== null) return why
  const own = toEnvironment(env)
  if (typeof own === 'string') return own

  const [name, ...args] = run
  const given: Record<string, string> = { LANG: 'C.UTF-8' }
  for (const key of inherited) if (environment[key] !== undefined) given[key] = environment[key]
  Object.assign(given, own)

  const candidates = name.includes('/') ? [resolve(baseFolder, name)] : onPath(name, given['PATH'] ?? '')
  const found = candidates.filter(isFile)
  const path = found.find(isExecutable)
  if (path === undefined)
    return `the program ${name} ${found.length > 0 ? 'is not executable' : 'was not found on the server'}`
  return { name, path, args: args.map((arg) => toArgument(arg, baseFolder)), environment: given, limits }
}

function isStringList(value: unknown): value is [string, ...string[]] {
  if (!Array.isArray(value) || value.length === 0 || value[0] === '') return false
  // A NUL byte cannot be in an argument; spawn would throw.
  return value.every((item) => typeof item === 'string' && !item.includes('\0'))
}

function toEnvironment(env: unknown): Record<string, string> | string {
  if (typeof env !== 'object' || env === null || Array.isArray(env))
    return 'engine.env must be a map of names to values'
  const out: Record<string, string> = {}
  for (const [key, value] of Object.entries(env)) {
    // YAML reads `THREADS: 4` as a number and `OFFLINE: true` as a boolean; both are meant as text.
    if (!['string', 'number', 'boolean'].includes(typeof value)) return `engine.env.${key} must be a string`
    out[key] = String(value)
    if (key === '' || /[=\0]/.test(key) || out[key].includes('\0')) return `engine.env.${key} cannot be set`
  }
  return out
}

// A relative entry of PATH would mean the job's folder, where only the program itself puts files.
function onPath(name: string, path: string): string[] {
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder))
  return folders.map((folder) => join(folder, name))
}

function toArgument(arg: string, baseFolder: string): string {
  const path = resolve(baseFolder, arg)
  return arg !== '' && isFile(path) ? path : arg
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
