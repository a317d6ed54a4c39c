// Parts of a list in their order, each with buttons that move it or take it away.
import type { Control } from './control.ts'
import { button, element } from './element.ts'

interface Item {
  readonly control: Control
  readonly element: HTMLElement
  readonly up: HTMLButtonElement
  readonly down: HTMLButtonElement
}

export interface ItemList {
  readonly element: HTMLElement
  readonly controls: readonly Control[]
  /** Adds a part at the end; one that has a button of its own for it gets none to take it away. */
  append(control: Control, options?: { ownRemove?: boolean }): void
  take(control: Control): void
  clear(): void
}

/** `changed` is told of every change; `taken` when a person has taken a part away, whose button had the focus. */
export function createItemList(kind: string, changed: () => void, taken: () => void): ItemList {
  let items: Item[] = []
  const list = element('ol', { class: `items items-${kind}`, hidden: true })

  function settle(): void {
    list.replaceChildren(...items.map((one) => one.element))
    list.hidden = items.length === 0
    items.forEach(({ up, down }, index) => {
      up.disabled = index === 0
      down.disabled = index === items.length - 1
    })
  }
  function move(control: Control, by: number): void {
    const from = items.findIndex((one) => one.control === control)
    const [made] = items.splice(from, 1)
    if (!made) return
    items.splice(from + by, 0, made)
    settle()
    const { up, down } = made
    ;(by < 0 && !up.disabled ? up : down.disabled ? up : down).focus()
    changed()
  }
  function take(control: Control): void {
    control.write(undefined)
    items = items.filter((one) => one.control !== control)
    settle()
    changed()
    taken()
  }
  return {
    element: list,
    get controls() {
      return items.map(({ control }) => control)
    },
    append(control, { ownRemove = false } = {}) {
      const look = { look: 'bare square', wordless: true }
      const up = button('Move up', () => move(control, -1), { icon: 'up', ...look })
      const down = button('Move down', () => move(control, 1), { icon: 'down', ...look })
      const remove = ownRemove ? null : button('Remove', () => take(control), { icon: 'close', ...look })
      const body = element('div', { class: 'item-body' }, control.element)
      const buttons = element('div', { class: 'item-buttons' }, up, down, remove)
      items.push({ control, element: element('li', { class: 'item' }, body, buttons), up, down })
      settle()
    },
    take,
    clear() {
      for (const { control } of items) control.write(undefined)
      items = []
      settle()
    },
  }
}
