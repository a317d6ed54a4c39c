// Prints what the JSON reports of Vitest in a folder say together: the ten slowest files, every failure by file, test and first
// line, and as the last line how many tests there were.
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

const [, , folder] = process.argv
const files = []
const counts = { passed: 0, failed: 0, skipped: 0 }
const failures = []

for (const name of ['tests', 'tests-builtin', 'tests-long']) {
  const report = readReport(name)
  counts.passed += report.numPassedTests
  counts.failed += report.numFailedTests
  counts.skipped += report.numPendingTests
  const failed = report.testResults.filter(({ status }) => status === 'failed')
  files.push(
    ...report.testResults.map((file) => ({ name: `${pathOf(file)} (${name})`, ms: file.endTime - file.startTime })),
  )
  failures.push(...failed.flatMap(describeFailures))
  // Without a report, or failed outside of its tests.
  if (!report.success && report.numFailedTests === 0) counts.failed += 1
}

files.sort((a, b) => b.ms - a.ms)
for (const { name, ms } of files.slice(0, 10)) console.log(`slow: ${(ms / 1000).toFixed(0)} s ${name}`)
for (const failure of failures) console.log(`FAILED ${failure}`)
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)

function readReport(name) {
  try {
    return JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'))
  } catch (error) {
    failures.push(`${name}: no report (${error.code ?? error.message})`)
    return { success: false, numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, testResults: [] }
  }
}

function describeFailures(file) {
  const failed = file.assertionResults.filter(({ status }) => status === 'failed')
  if (failed.length === 0) return [`${pathOf(file)}: ${firstLine(file.message)}`]
  return failed.map(
    ({ fullName, failureMessages }) => `${pathOf(file)} > ${fullName}: ${firstLine(failureMessages.join('\n'))}`,
  )
}

function pathOf(file) {
  return relative('.', file.name)
}

function firstLine(text) {
  return text.split('\n', 1)[0]?.slice(0, 500)
}
