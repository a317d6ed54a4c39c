// What a label may be, where a transport could change it on its way; the rest is tested at the doors (P282).
import { expect, test } from 'vitest'
import { findLabelFault, parseLabels, toLabelsText } from '../../src/core/jobs/labels.ts'

test('half a character is no text', () => {
  expect(findLabelFault('a', '\ud83c\udfa8')).toBeNull()
  expect(findLabelFault('a', '\ud83c')).toMatch(/^must be one line/)
})

test('labels are stored as text, none as null', () => {
  const labels = { constructor: 'x', team: '"ä"' }
  expect(parseLabels(toLabelsText(labels))).toEqual(labels)
  expect([toLabelsText({}), parseLabels(null)]).toEqual([null, {}])
})
