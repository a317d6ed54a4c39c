// What a core counts; the gateway that may stand in front of it counts for itself.
import type { TestApp } from '../test-app.ts'

/** The metrics of the core, in Prometheus' text. */
export async function readMetrics(app: TestApp): Promise<string> {
  return (await fetch(`${app.app.httpUrl}/metrics`)).text()
}
