// The webhook endpoints of the account: add, test, and delete them, give them another secret, and see what was sent.
import { type Api, isAbort } from '../api.ts'
import { button, element, icon, linkButton } from '../element.ts'
import { formatSeconds } from '../job-words.ts'
import { moment } from '../moment.ts'
import { problemNotice } from '../problem-notice.ts'
import type { ListRecord, WebhookRecord, WebhookTestRecord } from '../records.ts'
import type { ViewDeps } from '../view-deps.ts'
import { accountPage, filled, nothingYet } from './account-page.ts'
import { deliveryList } from './deliveries.ts'
import { addWebhook, deleteWebhook, renewSecret } from './webhook-dialogs.ts'

export function webhooksView({ api, signal }: ViewDeps): HTMLElement {
  const list = element('div', { class: 'webhooks' })
  const add = (): void => addWebhook(api, () => void load())
  const top = button('Add a webhook', add, { icon: 'plus', look: 'primary' })
  top.hidden = true
  const load = filled(
    list,
    () => api.get<ListRecord<WebhookRecord>>('/v1/webhooks?limit=500', { signal }),
    ({ data }) => {
      top.hidden = data.length === 0
      if (data.length > 0) return data.map((webhook) => endpoint(webhook, api, signal, () => void load()))
      return [
        nothingYet(
          'No webhooks yet',
          'A webhook tells your server when a generation has ended, so that it need not ask. Every message is signed.',
          button('Add a webhook', add, { icon: 'plus', look: 'primary' }),
          linkButton('What is sent', '/docs#/event/webhook_succeeded', { look: 'quiet' }),
        ),
      ]
    },
  )
  void load()
  const head = element('div', { class: 'head-row' }, element('h1', {}, 'Webhooks'), top)
  return accountPage('webhooks', head, list)
}

function endpoint(webhook: WebhookRecord, api: Api, signal: AbortSignal, onGone: () => void): HTMLElement {
  const result = element('div', { class: 'test-result', role: 'status' })
  const path = `/v1/webhooks/${encodeURIComponent(webhook.webhook_id)}`
  const test = button('Send a test', () => void act(test, tryIt), { icon: 'send', look: 'quiet small' })
  const secret = button('Another secret', () => void act(secret, () => renewSecret(api, webhook)), {
    look: 'quiet small',
  })
  const remove = button('Delete', () => void act(remove, drop), { icon: 'bin', look: 'quiet small' })

  async function act(clicked: HTMLButtonElement, run: () => Promise<void>): Promise<void> {
    clicked.disabled = true
    result.replaceChildren()
    try {
      await run()
    } catch (error) {
      if (!isAbort(error)) result.replaceChildren(problemNotice(error))
    } finally {
      clicked.disabled = false
    }
  }
  async function tryIt(): Promise<void> {
    result.replaceChildren(element('p', { class: 'fine' }, 'Waiting for its answer …'))
    result.replaceChildren(describeTest(await api.post<WebhookTestRecord>(`${path}/test`, undefined, { signal })))
  }
  async function drop(): Promise<void> {
    if (await deleteWebhook(api, webhook)) onGone()
  }
  const { description, url, disabled_at, include_input } = webhook
  return element(
    'article',
    { class: 'panel' },
    element(
      'header',
      { class: 'webhook-head' },
      element(
        'div',
        {},
        element('h2', {}, description ?? url),
        description && url ? element('p', { class: 'fine webhook-url' }, url) : null,
        include_input ? element('p', { class: 'fine' }, 'Gets the input of generations, too.') : null,
      ),
      element('div', { class: 'actions' }, url ? test : null, secret, remove),
    ),
    disabled_at === null
      ? null
      : element(
          'p',
          { class: 'field-error' },
          icon('warning'),
          element(
            'span',
            {},
            'Turned off: it answered that it is gone, ',
            moment(disabled_at),
            '. A delivery that you send again and that it accepts turns it on.',
          ),
        ),
    result,
    deliveryList(api, webhook.webhook_id, signal),
  )
}

function describeTest({ message_id, attempt }: WebhookTestRecord): HTMLElement {
  const { error, response_status, duration_seconds } = attempt
  const took = formatSeconds(duration_seconds)
  const words =
    error === null
      ? `It answered ${response_status} in ${took}.`
      : `${error}${response_status === null ? '' : ` It took ${took}.`}`
  return element(
    'div',
    { class: `notice ${error === null ? 'good' : ''}` },
    icon(error === null ? 'send' : 'warning'),
    element(
      'div',
      {},
      element('strong', {}, error === null ? 'The test was delivered' : 'The test failed'),
      element('p', {}, words),
      element(
        'p',
        { class: 'fine' },
        'Signed, of the type ',
        element('code', {}, 'webhook.test'),
        ', with the id ',
        element('code', {}, message_id),
      ),
    ),
  )
}
