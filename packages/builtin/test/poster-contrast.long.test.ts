// All themes, sizes and accents of posters: poster-contrast.test.ts tries some of them.
await import('./poster-contrast.test.ts')
