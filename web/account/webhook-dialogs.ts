// Dialogs about webhooks: add an endpoint, whose secret is shown once; give it another secret; delete it.
import type { Api } from '../api.ts'
import { shownOnce } from '../copy-button.ts'
import { askFirst, openDialog } from '../dialog.ts'
import { element, uniqueId } from '../element.ts'
import { toMinute } from '../moment.ts'
import type { CreatedWebhookRecord, RotatedWebhookRecord, WebhookRecord } from '../records.ts'
import { openForm } from './form-dialog.ts'

const longestDescription = 200
const longestUrl = 2048

/** Adds an endpoint; `onAdded` is called when there is one. */
export function addWebhook(api: Api, onAdded: () => void): void {
  const [urlId, noteId, inputId] = ['url', 'note', 'input'].map(uniqueId)
  const url = element('input', {
    class: 'input',
    id: urlId,
    type: 'url',
    maxlength: longestUrl,
    placeholder: 'https://example.com/hooks',
    autocomplete: 'off',
    'aria-describedby': `${urlId}-error`,
  })
  const missing = element('p', { class: 'field-error', id: `${urlId}-error`, role: 'alert' })
  const note = element('input', {
    class: 'input',
    id: noteId,
    maxlength: longestDescription,
    placeholder: 'production',
  })
  const includeInput = element('input', { type: 'checkbox', id: inputId })
  openForm({
    title: 'Add a webhook',
    label: 'Add the webhook',
    fields: [
      element(
        'div',
        {},
        element('label', { class: 'label', for: urlId }, 'URL'),
        url,
        missing,
        element('p', { class: 'help' }, 'Your server gets a signed POST there when a generation ends.'),
      ),
      element('div', {}, element('label', { class: 'label', for: noteId }, 'What you call it'), note),
      element(
        'div',
        { class: 'check' },
        includeInput,
        element(
          'label',
          { for: inputId },
          'Send the input of generations along',
          element('span', { class: 'fine' }, ' without large values'),
        ),
      ),
    ],
    read() {
      const address = url.value.trim()
      missing.textContent = address === '' ? 'Enter the URL of your server.' : ''
      if (address !== '')
        return { url: address, description: note.value.trim() || null, include_input: includeInput.checked }
      url.focus()
      return null
    },
    send: (wanted) => api.post<CreatedWebhookRecord>('/v1/webhooks', wanted),
    sent({ secret }) {
      onAdded()
      showSecret('The webhook was added', secret, 'Send it a test now to see whether it answers.')
    },
  })
}

/** Asks, then gives an endpoint another secret, which is shown once. @throws Refused, Unreachable */
export async function renewSecret(api: Api, webhook: WebhookRecord): Promise<void> {
  const words =
    'Messages are signed with the new secret and, for a day, with the old one too, so that none is lost meanwhile. If others know the old one, delete the webhook and add another instead.'
  const agreed = await askFirst(`Another secret for ${nameWebhook(webhook)}?`, words, {
    yes: 'Make another secret',
    no: 'Keep this one',
  })
  if (!agreed) return
  const path = `/v1/webhooks/${encodeURIComponent(webhook.webhook_id)}/rotate-secret`
  const { secret, previous_secret_until: until } = await api.post<RotatedWebhookRecord>(path)
  showSecret('The new secret', secret, `The old one signs beside it until ${toMinute(until)}.`)
}

/** Asks, then deletes an endpoint; false if it was kept. @throws Refused, Unreachable */
export async function deleteWebhook(api: Api, webhook: WebhookRecord): Promise<boolean> {
  const words = 'Nothing more is sent to it, deliveries that wait are dropped, and its secret is erased.'
  if (!(await askFirst(`Delete ${nameWebhook(webhook)}?`, words, { yes: 'Delete' }))) return false
  await api.remove(`/v1/webhooks/${encodeURIComponent(webhook.webhook_id)}`)
  return true
}

export function nameWebhook({ description, url }: Pick<WebhookRecord, 'description' | 'url'>): string {
  return `“${description ?? url}”`
}

function showSecret(title: string, secret: string, more: string): void {
  openDialog(
    title,
    [
      element('p', {}, 'Copy its secret now. It is shown only this once.'),
      shownOnce(secret, 'The secret'),
      element(
        'p',
        { class: 'fine' },
        'Your server verifies messages with it: ',
        element('a', { href: '/docs#/event/webhook_succeeded' }, 'what is sent'),
        `. ${more}`,
      ),
    ],
    { keep: true },
  )
}
