// The pictures of cards: small ones come together, with one request, others when they are scrolled to.
import { element } from './element.ts'

let loading: Promise<Readonly<Record<string, string>>> | undefined

/** `data:` URIs by the last parts of the URLs of pictures; none if they cannot be had. */
function loadCovers(): Promise<Readonly<Record<string, string>>> {
  const { covers = '' } = document.documentElement.dataset
  return (loading ??= fetch(covers)
    .then((response) => (response.ok ? response.json() : {}))
    .catch(() => ({})))
}

/** A picture of a card, filled when the small ones have come. */
export function coverPicture(url: string, attributes: Parameters<typeof element<'img'>>[1]): HTMLImageElement {
  const picture = element('img', { ...attributes, loading: 'lazy', decoding: 'async' })
  void loadCovers().then((covers) => {
    picture.src = covers[url.slice(url.lastIndexOf('/') + 1)] ?? url
  })
  return picture
}
