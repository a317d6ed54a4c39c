// Creates elements. Text is always a text node, so text of users and models is never parsed as markup.

type Child = Node | string | null | undefined | false
type Attribute = string | number | boolean | null | undefined | ((event: never) => void)

/** Creates an element; `on…` attributes are listeners, true and false are presence, null omits an attribute. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, Attribute>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(name.slice(2), value as EventListener)
    else if (value === true) made.setAttribute(name, '')
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, String(value))
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false))
  return made
}

/** An icon of icons.svg, which is in the page, hidden from screen readers, so its container needs a label. */
export function icon(name: string): SVGSVGElement {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
  svg.setAttribute('class', 'icon')
  svg.setAttribute('aria-hidden', 'true')
  const use = document.createElementNS('http://www.w3.org/2000/svg', 'use')
  use.setAttribute('href', `#icon-${name}`)
  svg.append(use)
  return svg
}

/** A button with an icon and optional text. */
export function button(
  label: string,
  onClick: () => void,
  options: { icon?: string; look?: string; wordless?: boolean } = {},
): HTMLButtonElement {
  return element(
    'button',
    {
      type: 'button',
      class: `button ${options.look ?? ''}`,
      onclick: onClick,
      ...(options.wordless && { 'aria-label': label, title: label }),
    },
    options.icon ? icon(options.icon) : null,
    options.wordless ? null : element('span', {}, label),
  )
}

/** A link that looks like a button. */
export function linkButton(
  label: string,
  href: string,
  options: { icon?: string; look?: string; download?: string; newTab?: boolean } = {},
): HTMLAnchorElement {
  const outward = options.newTab ? { target: '_blank', rel: 'noreferrer' } : {}
  return element(
    'a',
    { class: `button ${options.look ?? ''}`, href, download: options.download, ...outward },
    options.icon ? icon(options.icon) : null,
    element('span', {}, label),
  )
}

let ids = 0

/** An id that no other element of the page has. */
export function uniqueId(stem: string): string {
  ids += 1
  return `${stem}-${ids}`
}
