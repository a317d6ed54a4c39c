// Time spans for people.

/** A time span in its largest unit, such as `3 h`. */
export function toAge(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
  ] as const
  const [unit, length] = units.find(([, least]) => ms >= 2 * least) ?? ['s', 1000]
  return `${Math.floor(ms / length)} ${unit}`
}
