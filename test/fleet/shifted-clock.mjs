// Loaded into a process before its program (NODE_OPTIONS=--import=…): moves its clock by MEDIAGEN_TEST_CLOCK_MS, at once or, with
// MEDIAGEN_TEST_CLOCK_WAITS, when it is told to by SIGUSR2.
const shiftMs = Number(process.env.MEDIAGEN_TEST_CLOCK_MS)
const RealDate = Date
let offsetMs = process.env.MEDIAGEN_TEST_CLOCK_WAITS ? 0 : shiftMs

globalThis.Date = class Date extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [RealDate.now() + offsetMs] : args))
  }
  static now() {
    return RealDate.now() + offsetMs
  }
}
process.on('SIGUSR2', () => (offsetMs = shiftMs))
