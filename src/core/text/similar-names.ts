// Finds the known names that an unknown name may stand for.

const mostEdits = 4
// Comparing takes time: two milliseconds for as many names of models.
const longestName = 200
const mostNames = 1000
const shortestPart = 3

/**
 * The names of `known` that are most like `name`, the likeliest first, at most three: those that are a few edits away, then those
 * that contain it or are contained in it, or have a part between slashes that is a few edits away.
 */
export function findSimilar(name: string, known: readonly string[]): string[] {
  if (name.length > longestName) return []
  const written = name.toLowerCase()
  const most = Math.min(mostEdits, Math.max(1, Math.floor(written.length / 3)))
  const found: { other: string; rank: number }[] = []
  for (const other of known.slice(0, mostNames)) {
    const rank = rankPair(written, other.toLowerCase(), most)
    if (rank !== null) found.push({ other, rank })
  }
  const likeliest = found.toSorted((one, two) => one.rank - two.rank).slice(0, 3)
  const best = likeliest[0]?.rank ?? 0
  // A typo has one cause; a part of a name may be one of several.
  return likeliest.filter(({ rank }) => best > most || rank <= best + 1).map(({ other }) => other)
}

/** `did you mean "a" or "b"?`; empty if nothing known is similar. */
export function suggest(name: string, known: readonly string[]): string {
  const similar = findSimilar(name, known).map((other) => JSON.stringify(other))
  const last = similar.pop()
  if (last === undefined) return ''
  return `did you mean ${similar.length === 0 ? '' : `${similar.join(', ')} or `}${last}?`
}

/** The smaller, the more alike; null if the names are not. */
function rankPair(written: string, other: string, most: number): number | null {
  const edits = countFewEdits(written, other, most)
  if (edits <= most) return edits
  const [short, long] = written.length < other.length ? [written, other] : [other, written]
  const partly =
    (short.length >= shortestPart && long.includes(short)) ||
    (written.length > shortestPart && other.split('/').some((part) => countFewEdits(written, part, most) <= most))
  return partly ? most + long.length - short.length : null
}

function countFewEdits(one: string, two: string, most: number): number {
  return Math.abs(one.length - two.length) > most ? most + 1 : countEdits(one, two, most)
}

/**
 * The number of letters to add, drop, replace or swap with their neighbour (the optimal string alignment distance); more than
 * `most` if there are more.
 */
function countEdits(one: string, two: string, most: number): number {
  let start = 0
  while (start < one.length && one[start] === two[start]) start += 1
  // Three rows of the table; what is further from the diagonal than `most` stays above it.
  let [higher, above, row] = Array.from({ length: 3 }, () => new Uint16Array(two.length + 1).fill(most + 1)) as Rows
  for (let column = start; column <= two.length; column += 1) row[column] = column - start
  for (let line = start + 1; line <= one.length; line += 1) {
    ;[higher, above, row] = [above, row, higher.fill(most + 1)]
    row[start] = line - start
    let least = line - start
    const last = Math.min(two.length, line + most)
    for (let column = Math.max(start + 1, line - most); column <= last; column += 1) {
      const replaced = at(above, column - 1) + (one[line - 1] === two[column - 1] ? 0 : 1)
      let edits = Math.min(at(above, column) + 1, at(row, column - 1) + 1, replaced)
      if (column > start + 1 && one[line - 1] === two[column - 2] && one[line - 2] === two[column - 1])
        edits = Math.min(edits, at(higher, column - 2) + 1)
      row[column] = edits
      least = Math.min(least, edits)
    }
    if (least > most) return least
  }
  return at(row, two.length)
}

type Rows = [Uint16Array, Uint16Array, Uint16Array]

function at(row: Uint16Array, column: number): number {
  return row[column] as number
}
