// All picture models, in every format: picture-formats.test.ts tries some of them.
await import('./picture-formats.test.ts')
