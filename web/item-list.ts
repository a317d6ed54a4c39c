// The items of a list, each with buttons to move or remove it; files can also be dragged.
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
  /** Appends an item; one with its own remove button gets no other. */
  append(control: Control, options?: { ownRemove?: boolean }): void
  take(control: Control): void
  clear(): void
}

/** `changed` is called after every change; `taken` when the user removed an item, whose button had the focus. */
export function createItemList(kind: string, changed: () => void, taken: () => void): ItemList {
  let items: Item[] = []
  let dragged: Item | null = null
  const list = element('ol', { class: `items items-${kind}`, hidden: true })

  function settle(): void {
    list.hidden = items.length === 0
    items.forEach(({ up, down }, index) => {
      up.disabled = index === 0
      down.disabled = index === items.length - 1
    })
  }
  /** Moves an item to the place of another. It is moved, not recreated, or its drag would end. */
  function place(made: Item, at: Item): void {
    const [from, to] = [items.indexOf(made), items.indexOf(at)]
    items.splice(from, 1)
    items.splice(to, 0, made)
    if (from < to) at.element.after(made.element)
    else at.element.before(made.element)
    settle()
  }
  function move(made: Item, by: number): void {
    const at = items[items.indexOf(made) + by]
    if (!at) return
    place(made, at)
    const { up, down } = made
    ;(by < 0 && !up.disabled ? up : down.disabled ? up : down).focus()
    changed()
  }
  function drag(made: Item): void {
    const { element: row } = made
    row.draggable = true
    row.addEventListener('dragstart', ({ dataTransfer }) => {
      if (dataTransfer) dataTransfer.effectAllowed = 'move'
      dragged = made
      row.classList.add('dragged')
    })
    row.addEventListener('dragover', (event) => {
      if (!dragged) return
      event.preventDefault()
      event.stopPropagation()
      if (dragged !== made) place(dragged, made)
    })
    row.addEventListener('dragend', () => {
      dragged = null
      row.classList.remove('dragged')
      changed()
    })
  }
  function take(control: Control): void {
    control.write(undefined)
    items.find((one) => one.control === control)?.element.remove()
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
      const up = button('Move up', () => move(made, -1), { icon: 'up', ...look })
      const down = button('Move down', () => move(made, 1), { icon: 'down', ...look })
      const remove = ownRemove ? null : button('Remove', () => take(control), { icon: 'close', ...look })
      const body = element('div', { class: 'item-body' }, control.element)
      const buttons = element('div', { class: 'item-buttons' }, up, down, remove)
      const made: Item = { control, element: element('li', { class: 'item' }, body, buttons), up, down }
      if (kind === 'media') drag(made)
      items.push(made)
      list.append(made.element)
      settle()
    },
    take,
    clear() {
      for (const { control } of items) control.write(undefined)
      items = []
      list.replaceChildren()
      settle()
    },
  }
}
