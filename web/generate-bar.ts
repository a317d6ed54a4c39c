// The bar with the price and the button: quotes the input, starts it, and shows what prevents that.
import { mayPass, Refused } from '@mediagen/client/errors.ts'
import { createIdempotencyKey, startGeneration } from '@mediagen/client/generate.ts'
import { isAbort } from './api.ts'
import type { Balance } from './balance.ts'
import { button, element, icon } from './element.ts'
import type { Form } from './form.ts'
import { formatCredits, isConstantPrice } from './job-words.ts'
import { LiveQuote, type QuoteState } from './live-quote.ts'
import { problemNotice } from './problem-notice.ts'
import { isUnready } from './readiness.ts'
import type { JobRecord, JsonObject, ModelDetailRecord, QuoteRecord } from './records.ts'
import { GenerationStarter } from './start-generation.ts'
import type { ViewDeps } from './view-deps.ts'

export interface GenerateBar {
  readonly element: HTMLElement
  inputChanged(): void
  generate(): Promise<void>
}

export interface GenerateBarEvents {
  readonly onJob: (job: JobRecord) => void
  readonly onCode: () => void
  /** Null where the model has nothing that could vary. */
  readonly onVary: (() => void) | null
  /** Whether exactly this is being made, or was. */
  readonly findEqual: (input: JsonObject) => 'making' | 'made' | null
  /** Called with the refusal when the model is not ready, and with null when it is. */
  readonly onReady: (refusal: Refused | null) => void
}

export function createGenerateBar(
  { api, balance, signal }: ViewDeps,
  model: ModelDetailRecord,
  form: Form,
  { onJob, onCode, onVary, onReady, findEqual }: GenerateBarEvents,
): GenerateBar {
  const words = element('span', {}, 'Generate')
  const go = element('button', { type: 'submit', class: 'button primary large' }, words)
  const price = element('p', { class: 'fine', role: 'status' })
  const trouble = element('div', {})
  const upTo = model.pricing.billing === 'usage' ? 'up to ' : ''
  const starter = new GenerationStarter(
    (attempt) => startGeneration(api, attempt.model, attempt.input, attempt),
    createIdempotencyKey,
  )
  const quotes = new LiveQuote(api, model.id, showQuote)
  const lack = createLack(balance, signal)
  // The price that the user sees; no other may be spent.
  let shownCredits: number | null = null
  const constantCredits = isConstantPrice(model.pricing) ? model.pricing.from_credits : null

  function showQuote(state: QuoteState): void {
    go.classList.toggle('asking', state.state === 'asking')
    if (state.state === 'asking') return
    trouble.replaceChildren()
    shownCredits = state.state === 'quoted' ? state.quote.credits : null
    lack.show(shownCredits)
    words.textContent = shownCredits === null ? 'Generate' : `Generate for ${upTo}${formatCredits(shownCredits)}`
    price.textContent =
      state.state === 'quoted'
        ? describeQuote(state.quote)
        : state.state === 'unknown'
          ? describeStart(model.pricing)
          : ''
    if (state.state === 'refused') showTrouble(state.error)
    else if (state.state === 'quoted') {
      form.showViolations([])
      onReady(null)
    }
  }
  function describeQuote(quote: QuoteRecord): string {
    const input = form.read()
    return describeEqual(findEqual(input), input) ?? describeTerms(model.pricing, quote)
  }
  function showTrouble(error: unknown, pressed = false): void {
    if (isUnready(error)) {
      words.textContent = 'Not ready'
      price.textContent = error.problem.detail
      return onReady(error)
    }
    const violations =
      error instanceof Refused && error.problem.code === 'invalid_input' ? error.problem.errors : undefined
    if (violations) {
      form.showViolations(violations, { focus: pressed })
      price.textContent =
        violations.length === 1 ? 'One field needs attention.' : `${violations.length} fields need attention.`
      return
    }
    // Nobody has pressed for a price that was refused.
    const run = pressed ? () => void generate() : inputChanged
    trouble.replaceChildren(problemNotice(error, mayPass(error) ? { label: 'Try again', run } : undefined))
  }
  function inputChanged(): void {
    quotes.change(form.isIncomplete() ? null : form.read())
  }
  async function start(input: JsonObject): Promise<JobRecord | null> {
    // A request without an answer is repeated unchanged; the server knows whether it arrived.
    const pending = starter.pendingFor(model.id, input)
    if (pending) return starter.start(model.id, input, pending.quote)
    const seen = shownCredits ?? constantCredits
    const quote = await quotes.ask(input)
    if (quote.credits !== seen) {
      const instead = seen === null ? '' : `, not ${seen}`
      price.textContent = `This input costs ${formatCredits(quote.credits)}${instead}. Press again to accept.`
      return null
    }
    return starter.start(model.id, input, quote)
  }
  async function generate(): Promise<void> {
    if (go.disabled || form.complain()) return
    const input = form.read()
    go.disabled = true
    go.classList.add('starting')
    trouble.replaceChildren()
    try {
      const job = await start(input).catch((error: unknown) => {
        if (!(error instanceof Refused) || error.problem.code !== 'quote_expired') throw error
        quotes.forget()
        return start(input)
      })
      if (!job) return
      if (!signal.aborted) onJob(job)
      inputChanged()
    } catch (error) {
      if (!isAbort(error)) showTrouble(error, true)
    } finally {
      go.disabled = false
      go.classList.remove('starting')
      balance.refresh()
    }
  }

  signal.addEventListener('abort', () => quotes.stop())
  return {
    element: element(
      'div',
      { class: 'generate-bar' },
      trouble,
      element(
        'div',
        { class: 'generate-row' },
        go,
        onVary && button('Variations', onVary, { look: 'quiet' }),
        button('Show as code', onCode, { icon: 'code', look: 'quiet as-code' }),
      ),
      lack.element,
      price,
    ),
    inputChanged,
    generate,
  }
}

/** Says before the press that the credits do not suffice. The server decides; it may know of more. */
function createLack(balance: Balance, signal: AbortSignal) {
  const words = element('p', { class: 'field-error', role: 'status' })
  let needed: number | null = null
  function show(credits: number | null): void {
    needed = credits
    const available = balance.wallet?.available ?? Number.POSITIVE_INFINITY
    words.replaceChildren(
      ...(needed !== null && needed > available
        ? [icon('warning'), `Not enough credits: you have ${available.toLocaleString('en-US')}.`]
        : []),
    )
  }
  balance.addEventListener('change', () => show(needed), { signal })
  return { element: words, show }
}

/** What to know before exactly this is made again; null for nothing. */
function describeEqual(equal: 'making' | 'made' | null, input: JsonObject): string | null {
  if (equal === null) return null
  if (equal === 'making') return 'This is being made already.'
  return 'seed' in input
    ? 'You have made this. The same settings give the same result: change the seed for another.'
    : 'You have made this with the same settings.'
}

type Pricing = ModelDetailRecord['pricing']

/** The price before there is a quote. */
function describeStart(pricing: Pricing): string {
  const credits = formatCredits(pricing.from_credits)
  return isConstantPrice(pricing)
    ? `${credits}, charged only if it succeeds.`
    : `From ${credits}. The exact price appears when the input is complete.`
}

function describeTerms({ billing }: Pricing, { expires_at }: QuoteRecord): string {
  const time = new Date(expires_at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  return billing === 'usage'
    ? `Held at the start; unused credits are returned. Price valid until ${time}.`
    : `Charged only if it succeeds. Price valid until ${time}.`
}
