// Headers of a proxy or a client that become labels of a start (MEDIAGEN_LABEL_HEADERS), such as the user of a chat program.
import type { IncomingHttpHeaders } from 'node:http'
import { findLabelFault, type Labels, mostLabels } from '../core/jobs/labels.ts'

/** A header, and the label that has its value. */
export interface LabelHeader {
  /** In lower case. */
  readonly header: string
  readonly label: string
}

/** Parses the setting, such as `X-User=user, X-Team=team`; throws an Error whose message completes "NAME …". */
export function parseLabelHeaders(written: string): readonly LabelHeader[] {
  const pairs = written
    .split(',')
    .map((pair) => pair.trim())
    .filter(Boolean)
  const parsed = pairs.map((pair) => {
    const [, header = '', label = ''] = /^([!#$%&'*+.^`|~\w-]+)\s*=\s*(\S+)$/.exec(pair) ?? []
    if (header === '' || findLabelFault(label, '-') !== null)
      throw new Error('must be headers and labels such as `X-User=user, X-Team=team`')
    return { header: header.toLowerCase(), label }
  })
  if (parsed.length > mostLabels) throw new Error(`must have at most ${mostLabels} labels`)
  if (new Set(parsed.map(({ label }) => label)).size < parsed.length) throw new Error('must not name a label twice')
  return parsed
}

/** The text of a header, which is UTF-8 as Node hands it over in Latin-1; null if it is not. */
export function decodeHeader(sent: string): string | null {
  const text = Buffer.from(sent, 'latin1').toString('utf8')
  return text.includes('\ufffd') ? null : text
}

/**
 * The labels of a start: those that it says, and those that headers have. A start never fails for a header that a proxy set: one
 * that cannot be a label, or is one too many, is ignored.
 */
export function addLabelHeaders(
  said: Labels,
  labelHeaders: readonly LabelHeader[],
  headers: IncomingHttpHeaders,
): Labels {
  if (labelHeaders.length === 0) return said
  const labels = new Map(Object.entries(said))
  for (const { header, label } of labelHeaders) {
    const sent = headers[header]
    const value = typeof sent === 'string' ? decodeHeader(sent) : null
    if (value === null || labels.has(label) || labels.size >= mostLabels) continue
    if (findLabelFault(label, value) === null) labels.set(label, value)
  }
  return Object.fromEntries(labels)
}
