// Whether this is `npm run test:long`, which tries every model in every format, or `npm test`, which tries some.

/** True in a long run; the variable is set by vitest.config.ts. */
export const isLongRun = process.env['MEDIAGEN_TEST_LONG'] === '1'
