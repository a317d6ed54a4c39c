// The page of the gallery: sections of models, groups of choices, a card for each sample. It needs no server.

/** A card: what was made, and what it took. */
export interface Card {
  readonly title: string
  /** Path of the file, relative to the page; null when it could not be made. */
  readonly file: string | null
  /** Path of a picture of a sound, relative to the page. */
  readonly drawing: string | null
  /** In words: what it took, or why it is missing. */
  readonly note: string
  readonly failed: boolean
}

/** A model. */
export interface Section {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly groups: readonly { readonly name: string; readonly cards: readonly Card[] }[]
}

/** Writes the page. `summary` says when and from what it was made. */
export function writePage(sections: readonly Section[], summary: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>mediagen: gallery</title>
<style>${style}</style>
<header>
<h1>mediagen: gallery</h1>
<p>${escapeHtml(summary)}</p>
<nav>${sections.map(({ id, name }) => `<a href="#${toAnchor(id)}">${escapeHtml(name)}</a>`).join(' ')}</nav>
</header>
<main>
${sections.map(writeSection).join('\n')}
</main>
<script>${script}</script>
</html>
`
}

function writeSection({ id, name, description, groups }: Section): string {
  return `<section id="${toAnchor(id)}">
<h2>${escapeHtml(name)} <small>${escapeHtml(id)}</small></h2>
<p>${escapeHtml(description)}</p>
${groups.map((group) => writeGroup(group.name, group.cards)).join('\n')}
</section>`
}

function writeGroup(name: string, cards: readonly Card[]): string {
  const heading = name === '' ? '' : `<h3>${escapeHtml(name.replaceAll('_', ' '))}</h3>\n`
  return `${heading}<div class="cards">\n${cards.map(writeCard).join('\n')}\n</div>`
}

function writeCard({ title, file, drawing, note, failed }: Card): string {
  const caption = `<figcaption><b>${escapeHtml(title)}</b> <span>${escapeHtml(note)}</span></figcaption>`
  const media = file === null ? '' : show(file, drawing, title)
  return `<figure${failed ? ' class="failed"' : ''}>${media}${caption}</figure>`
}

function show(file: string, drawing: string | null, title: string): string {
  const [source, alt] = [escapeHtml(file), escapeHtml(title)]
  const image = (path: string): string => `<a href="${source}"><img loading="lazy" alt="${alt}" src="${path}"></a>`
  switch (file.slice(file.lastIndexOf('.') + 1)) {
    case 'mp4':
    case 'webm':
      // Not the first frame, on which a title has not come yet; two pictures of a slideshow meet here.
      return `<video controls loop muted playsinline tabindex="0" preload="metadata" src="${source}#t=2"></video>`
    case 'wav':
    case 'mp3':
    case 'flac':
    case 'm4a':
    case 'ogg':
      return `${drawing === null ? '' : image(escapeHtml(drawing))}<audio controls preload="none" src="${source}"></audio>`
    default:
      return image(source)
  }
}

function toAnchor(id: string): string {
  return id.replaceAll(/[^a-z0-9]+/g, '-')
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

// Films play while they are in sight, for those who do not mind; their controls would cover them.
const script = `
const calm = matchMedia('(prefers-reduced-motion: reduce)').matches
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) isIntersecting ? target.play().catch(() => {}) : target.pause()
}, { threshold: 0.6 })
for (const film of calm ? [] : document.querySelectorAll('video')) {
  film.controls = false
  for (const event of ['pointerenter', 'focus']) film.addEventListener(event, () => { film.controls = true })
  film.addEventListener('pointerleave', () => { film.controls = false })
  seen.observe(film)
}
`

const style = `
:root { --ink: #1d1d1f; --soft: #6b6b70; --ground: #f5f5f2; --card: #fff; --line: #e3e3de; --bad: #b3261e }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ececee; --soft: #9a9aa2; --ground: #131315; --card: #1d1d21; --line: #2c2c32; --bad: #ff8a80 }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 100rem; padding: clamp(1rem, 3vw, 2.5rem); font: 15px/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--ground) }
h1 { margin: 0; font-size: 1.9rem; letter-spacing: -.02em }
h2 { margin: 0 0 .2rem; font-size: 1.35rem; letter-spacing: -.01em }
h3 { margin: 1.6rem 0 .6rem; font-size: .8rem; letter-spacing: .08em; text-transform: uppercase; color: var(--soft) }
p { margin: .2rem 0 1rem; max-width: 46rem; color: var(--soft); overflow-wrap: anywhere }
small { font-weight: normal; font-size: .8rem; color: var(--soft); overflow-wrap: anywhere }
nav { display: flex; flex-wrap: wrap; gap: .4rem; margin: 0 0 1rem }
nav a { padding: .2rem .7rem; border: 1px solid var(--line); border-radius: 1rem; color: inherit; text-decoration: none }
nav a:hover { background: var(--card) }
section { padding: 2rem 0; border-top: 1px solid var(--line) }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); gap: 1rem; align-items: start }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; overflow: hidden }
figure.failed { border-color: var(--bad) }
figure.failed span { color: var(--bad) }
figcaption { padding: .5rem .75rem .6rem; overflow-wrap: anywhere }
figcaption span { display: block; font-size: .8rem; color: var(--soft); font-variant-numeric: tabular-nums }
figure a { display: block }
img, video { width: 100%; height: auto; display: block }
audio { width: 100%; display: block; padding: .5rem .5rem 0 }
`
