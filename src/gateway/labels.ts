// The header Mediagen-Labels: labels of a start, such as `team=ads, campaign="spring, 2026"`.
import { findLabelFault, type Labels, mostLabels } from '../core/jobs/labels.ts'
import { escapeHidden } from '../core/text/hidden-characters.ts'
import { decodeHeader } from '../guards/label-headers.ts'
import type { Parameter } from './query.ts'

// One label, and the comma or the end behind it. A value is a text without spaces, commas and quotes, or a quoted one.
const label = /[ \t]*([^\s=,"]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))[ \t]*(?:,|$)/y

/** The header. */
export const labelsHeader: Parameter<Labels> = {
  description:
    'Labels of the job, by which its owner knows it: at most 16, such as `team=ads, campaign="spring, 2026"`, in UTF-8. A name has 1 to 64 letters, digits, `_`, `.` and `-`, a value 1 to 256 characters. They are no part of the request that an Idempotency-Key stands for.',
  schema: { type: 'string', examples: ['team=ads, campaign=42'] },
  read(sent) {
    if (sent === undefined || sent.trim() === '') return {}
    const text = decodeHeader(sent)
    if (text === null) throw new Error('must be UTF-8')
    const labels = new Map<string, string>()
    for (let at = 0; at < text.length; at = label.lastIndex) {
      label.lastIndex = at
      const [, name, quoted, bare = ''] = label.exec(text) ?? []
      if (name === undefined)
        throw new Error(`must be labels such as team=ads, campaign="spring, 2026", but has ${show(text.slice(at))}`)
      const value = quoted === undefined ? bare : quoted.replaceAll(/\\(.)/g, '$1')
      const fault = findLabelFault(name, value)
      if (fault !== null) throw new Error(`has a label ${show(name)}, which ${fault}`)
      if (labels.has(name)) throw new Error(`has the label ${show(name)} twice`)
      labels.set(name, value)
    }
    if (labels.size > mostLabels) throw new Error(`must have at most ${mostLabels} labels, but has ${labels.size}`)
    return Object.fromEntries(labels)
  },
}

function show(text: string): string {
  return JSON.stringify(escapeHidden(text.length > 80 ? `${text.slice(0, 80)}…` : text))
}
