// The seed of whatever tests do at random: the same in every `npm test`, another one in each `npm run test:long`, whose
// titles say it; MEDIAGEN_TEST_SEED=<seed> repeats one. It comes from vitest.config.ts.

/** The seed of this run. */
export const seed = Number(process.env['MEDIAGEN_TEST_SEED'])
