// Favourites: which generations this browser marks with a star. The server does not know of them.
import { button } from './element.ts'

const starsName = 'mediagen.stars'
// The newest ones are kept.
const mostStars = 2000

const changes = new EventTarget()

/** Ids of the jobs with a star. */
export function readStars(): ReadonlySet<string> {
  try {
    return new Set(JSON.parse(localStorage.getItem(starsName) ?? '[]') as string[])
  } catch {
    return new Set()
  }
}

function setStar(jobId: string, on: boolean): void {
  const others = [...readStars()].filter((id) => id !== jobId)
  try {
    localStorage.setItem(starsName, JSON.stringify((on ? [...others, jobId] : others).slice(-mostStars)))
  } catch {
    // If the storage is full, only a convenience is lost.
  }
  changes.dispatchEvent(new Event('change'))
}

/** A star to press; `onChange` is called after it was. */
export function starButton(jobId: string, signal: AbortSignal, onChange: () => void = () => {}): HTMLElement {
  const made = button(
    'Favourite',
    () => {
      setStar(jobId, !readStars().has(jobId))
      onChange()
    },
    { icon: 'star', look: 'bare square star', wordless: true },
  )
  const show = (): void => made.setAttribute('aria-pressed', String(readStars().has(jobId)))
  changes.addEventListener('change', show, { signal })
  addEventListener('storage', ({ key }) => key === starsName && show(), { signal })
  show()
  return made
}
