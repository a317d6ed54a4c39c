// All films, in every format and at every size: film.test.ts tries some of them.
await import('./film.test.ts')
