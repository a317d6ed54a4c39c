// A setting: an environment variable, its default, its meaning and its valid values.

/** One setting. */
export interface Setting<Value> {
  readonly env: string
  /** The default as it would be written in the environment; empty for none. */
  readonly fallback: string
  /** One line for the table of the docs. */
  readonly help: string
  /** Checks and converts; throws an Error whose message completes "NAME must be …". */
  readonly parse: (text: string) => Value
}

/** A text, or the result of `parse`. */
export function text(env: string, fallback: string, help: string): Setting<string>
export function text<Value>(env: string, fallback: string, help: string, parse: (text: string) => Value): Setting<Value>
export function text(
  env: string,
  fallback: string,
  help: string,
  parse: (text: string) => unknown = (value) => value,
): Setting<unknown> {
  return { env, fallback, help, parse }
}

/** A whole number, `least` to `most`. */
export function integer(env: string, fallback: number, least: number, most: number, help: string): Setting<number> {
  const parse = (written: string): number => {
    const value = Number(written)
    if (!/^\d+$/.test(written) || value < least || value > most)
      throw new Error(`must be a whole number, ${least} to ${most}`)
    return value
  }
  return { env, fallback: String(fallback), help, parse }
}

/** A setting that bounds something. */
export interface Limit extends Setting<number> {
  /** What a client sees beyond it. */
  readonly beyond: string
}

/** A bound: whole numbers, `least` to `most`. */
export function limit(
  env: string,
  fallback: number,
  [least, most]: readonly [number, number],
  help: string,
  beyond: string,
): Limit {
  return { ...integer(env, fallback, least, most, help), beyond }
}
