// Names the tests that were skipped when a run ends, so that nobody takes for tested what needs a program that is not there.
import type { Reporter, TestModule } from 'vitest/node'

export const skippedReporter: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]) {
    for (const { children, relativeModuleId } of modules)
      for (const { fullName } of children.allTests('skipped'))
        process.stdout.write(`SKIPPED ${relativeModuleId} > ${fullName}\n`)
  },
}
