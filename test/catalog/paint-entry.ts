// An entry of a catalog file, for tests of what else one may say.
export const paintEntry = {
  id: 'acme/paint',
  name: 'Acme Paint',
  description: 'Paints.',
  category: 'text-to-image',
  modality: 'image',
  owned_by: 'acme',
  created: '2026-11-01',
  price: { credits: 1 },
  engine: { kind: 'null' },
  input: { type: 'object', required: ['prompt'], properties: { prompt: { type: 'string', maxLength: 9 } } },
}
