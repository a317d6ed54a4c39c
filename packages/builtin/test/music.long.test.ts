// All styles, tempi and lengths of music: music.test.ts tries some of them.
await import('./music.test.ts')
