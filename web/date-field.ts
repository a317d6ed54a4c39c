// A field for a day, written the one way that nobody misreads: 2026-12-31. The picker of the browser helps where there is one.
import { button, element, uniqueId } from './element.ts'

export interface DateField {
  readonly element: HTMLElement
  /** `YYYY-MM-DD`, empty for none; null for what is no day. */
  read(): string | null
}

/** @param options.first the first day that may be chosen */
export function dateField(
  label: string,
  options: { value?: string; first?: string; hint?: string; onChange?: (day: string) => void } = {},
): DateField {
  const id = uniqueId('day')
  const error = element('p', { class: 'field-error', id: `${id}-error`, role: 'alert' })
  const text = element('input', {
    class: 'input',
    id,
    inputmode: 'numeric',
    autocomplete: 'off',
    maxlength: 10,
    placeholder: 'YYYY-MM-DD',
    value: options.value ?? '',
    'aria-describedby': `${id}-error`,
    onchange: changed,
  })
  const picker = element('input', {
    type: 'date',
    class: 'day-picker',
    tabindex: -1,
    'aria-hidden': 'true',
    min: options.first,
    onchange: () => {
      text.value = picker.value
      changed()
    },
  })
  const open = button('Choose a day', show, { icon: 'calendar', look: 'bare square', wordless: true })
  function show(): void {
    picker.value = readDay(text.value) ?? ''
    picker.showPicker()
  }
  function read(): string | null {
    const day = text.value.trim() === '' ? '' : readDay(text.value)
    const wrong = day === null ? 'Write a day as 2026-12-31.' : isEarly(day) ? `Choose ${options.first} or later.` : ''
    error.textContent = wrong
    if (wrong) text.setAttribute('aria-invalid', 'true')
    else text.removeAttribute('aria-invalid')
    return wrong ? null : day
  }
  const isEarly = (day: string): boolean => day !== '' && options.first !== undefined && day < options.first
  function changed(): void {
    const day = read()
    if (day !== null) options.onChange?.(day)
  }
  return {
    element: element(
      'div',
      { class: 'day-field' },
      element('label', { class: 'label', for: id }, label),
      element('div', { class: 'day-row' }, text, open, picker),
      error,
      options.hint ? element('p', { class: 'help' }, options.hint) : null,
    ),
    read,
  }
}

/** The day that a text names, as `YYYY-MM-DD`; null if it names none. */
export function readDay(text: string): string | null {
  const [, year = '', month = '', day = ''] = /^\s*(\d{4})-(\d{1,2})-(\d{1,2})\s*$/.exec(text) ?? []
  const written = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  const parsed = new Date(`${written}T00:00:00Z`)
  // The 31st of February is another day to Date.
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(written) ? written : null
}
