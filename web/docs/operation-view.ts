// The page of an operation or a webhook: what it takes, what it answers, the code, and a form to try it.
import { element } from '../element.ts'
import type { JsonObject } from '../records.ts'
import type { Answer, Content, Operation, Parameter, Reference } from './document.ts'
import { schemaView } from './schema-view.ts'
import { toTry } from './to-try.ts'
import { type Reader, tryView } from './try-view.ts'
import { describeBounds, describeType, paragraphs, prose } from './words.ts'

/** The page. */
export function operationView(operation: Operation, { root }: Reference, reader: Reader): HTMLElement {
  const { method, path, title, description, parameters, body, answers, rpc } = operation
  const isEvent = method === 'EVENT'
  const refusals = answers.filter((answer) => answer.refusals.length > 0)
  return element(
    'article',
    { class: isEvent ? 'reference-page' : 'reference-page tried' },
    element(
      'header',
      {},
      element('p', { class: 'fine' }, operation.group),
      element('h1', {}, title),
      element(
        'p',
        { class: 'route' },
        element('b', {}, isEvent ? 'POST' : method),
        ' ',
        element('code', {}, isEvent ? 'to your endpoint' : path),
      ),
      !isEvent && toTry(),
      ...paragraphs(description),
      rpc && element('p', { class: 'fine' }, 'Over gRPC and Connect: ', element('code', {}, rpc)),
    ),
    element(
      'div',
      { class: 'what' },
      ...part('Parameters', parameters.length > 0 && parameterList(parameters, root)),
      ...part('Body', body && contentView(body, root, isEvent)),
      ...part(
        isEvent ? 'What your endpoint answers' : 'Answers',
        element('div', {}, ...answers.flatMap((answer) => answerView(answer, root))),
      ),
      ...part('Refusals', refusals.length > 0 && refusalTable(refusals)),
    ),
    !isEvent && tryView(operation, reader),
  )
}

function part(title: string, content: HTMLElement | false | null): HTMLElement[] {
  return content ? [element('section', {}, element('h2', {}, title), content)] : []
}

function parameterList(parameters: readonly Parameter[], root: JsonObject): HTMLElement {
  const rows = parameters.map(({ name, in: place, required, description, schema }) => {
    const bounds = describeBounds(schema, root)
    const kind = [describeType(schema, root), place, required ? 'required' : ''].filter(Boolean).join(', ')
    const { enum: options } = schema
    return element(
      'li',
      {},
      element('p', {}, element('code', { class: 'name' }, name), ' ', element('span', { class: 'fine' }, kind)),
      element('p', {}, ...prose(description)),
      bounds !== '' && element('p', { class: 'fine' }, `${bounds.charAt(0).toUpperCase()}${bounds.slice(1)}.`),
      Array.isArray(options) &&
        element('p', { class: 'options' }, ...options.flatMap((option) => [element('code', {}, String(option)), ' '])),
    )
  })
  return element('ul', { class: 'schema' }, ...rows)
}

function contentView({ type, schema, example }: Content, root: JsonObject, unfolded: boolean): HTMLElement {
  return element(
    'div',
    {},
    element('p', { class: 'fine' }, `${type}${schema['$ref'] === undefined ? '' : `: ${describeType(schema, root)}`}`),
    schemaView(schema, root),
    example !== undefined &&
      element(
        'details',
        { open: unfolded },
        element('summary', {}, 'Example'),
        element('pre', { tabindex: '0' }, typeof example === 'string' ? example : JSON.stringify(example, null, 2)),
      ),
  )
}

function answerView({ status, description, headers, content, refusals }: Answer, root: JsonObject): HTMLElement[] {
  if (refusals.length > 0) return []
  return [
    element(
      'details',
      { class: 'answer-kind', open: status.startsWith('2') },
      element('summary', {}, element('b', {}, status), ` ${description}`),
      content && contentView(content, root, false),
      headers.length > 0 &&
        element(
          'details',
          {},
          element('summary', {}, 'Headers'),
          element(
            'ul',
            { class: 'schema' },
            ...headers.map(({ name, description }) =>
              element(
                'li',
                {},
                element('p', {}, element('code', { class: 'name' }, name)),
                element('p', {}, ...prose(description)),
              ),
            ),
          ),
        ),
    ),
  ]
}

function refusalTable(answers: readonly Answer[]): HTMLElement {
  const rows = answers.flatMap(({ status, refusals }) =>
    refusals.map(({ code, title }) =>
      element(
        'tr',
        {},
        element('td', {}, status),
        element('td', {}, element('a', { href: `/problems/${code}` }, title)),
        element('td', {}, element('code', {}, code)),
      ),
    ),
  )
  return element(
    'div',
    { class: 'article' },
    element(
      'table',
      {},
      element(
        'thead',
        {},
        element('tr', {}, ...['HTTP', 'Problem', 'Code'].map((head) => element('th', { scope: 'col' }, head))),
      ),
      element('tbody', {}, ...rows),
    ),
  )
}
