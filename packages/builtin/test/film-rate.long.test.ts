// All styles of motion graphics: film-rate.test.ts tries some of them.
await import('./film-rate.test.ts')
