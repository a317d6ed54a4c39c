// A number control: typed, dragged on a slider if the range is small, or random for a seed.
import { type Control, type ControlContext, createFrame, toPlaceholder } from './control.ts'
import { button, element } from './element.ts'
import type { NumberField } from './form-model.ts'
import { identify } from './text-control.ts'

// Larger seeds are not more random, only longer.
const largestSeed = 999_999

export function numberControl(field: NumberField, { onChange }: ControlContext): Control {
  const { min, max, step } = field
  const bounds = { min, max, step: field.integer ? step : 'any' }
  const input = element('input', {
    class: 'input number',
    type: 'number',
    inputmode: field.integer ? 'numeric' : 'decimal',
    placeholder: toPlaceholder(field.fallback ?? field.examples[0]),
    ...bounds,
    oninput: typed,
  })
  const slider = field.slider
    ? element('input', {
        class: 'slider',
        type: 'range',
        min,
        max,
        step,
        tabindex: '-1',
        'aria-hidden': 'true',
        oninput: slid,
      })
    : null
  const dice =
    field.name === 'seed' ? button('Another seed', roll, { icon: 'dice', look: 'quiet square', wordless: true }) : null
  const frame = createFrame(
    field,
    ({ inputId, describedBy }) => [
      element('div', { class: 'number-row' }, slider, identify(input, inputId, describedBy), dice),
    ],
    { aside: describeBounds() },
  )

  function describeBounds(): HTMLElement | null {
    return min !== undefined && max !== undefined && field.slider
      ? element('span', { class: 'counter' }, `${min} – ${max}`)
      : null
  }
  function showSlider(): void {
    if (!slider || min === undefined || max === undefined) return
    const shown =
      input.value === '' ? (typeof field.fallback === 'number' ? field.fallback : (min + max) / 2) : input.valueAsNumber
    slider.value = String(shown)
    slider.style.setProperty('--filled', `${Math.max(0, Math.min(1, (shown - min) / (max - min))) * 100}%`)
    slider.classList.toggle('unset', input.value === '' && field.fallback === undefined)
  }
  function typed(): void {
    showSlider()
    onChange()
  }
  function slid(): void {
    if (!slider) return
    input.value = slider.value
    typed()
  }
  function roll(): void {
    input.value = String(Math.floor(Math.random() * Math.min(max ?? largestSeed, largestSeed)))
    typed()
  }
  showSlider()
  return {
    field,
    element: frame.element,
    read: () => (Number.isNaN(input.valueAsNumber) ? undefined : input.valueAsNumber),
    write(value) {
      input.value = typeof value === 'number' ? String(value) : ''
      showSlider()
    },
    showError: frame.showError,
    focus: () => input.focus(),
    child: () => undefined,
  }
}
