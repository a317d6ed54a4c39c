// What a core counts; the gateway that may stand in front of it counts for itself.
import type { TestApp } from '../test-app.ts'

/** The metrics of the core, in Prometheus' text. */
export async function readMetrics(app: TestApp): Promise<string> {
  return (await fetch(`${app.app.httpUrl}/metrics`)).text()
}

/** How often calls of an rpc, such as `WalletService.GetWallet`, ended with a code. */
export async function countCalls(app: TestApp, rpc: string, code: string): Promise<number> {
  const counter = new RegExp(`mediagen_rpc_total\\{rpc="${rpc}",code="${code}"\\} (\\d+)`)
  return Number(counter.exec(await readMetrics(app))?.[1] ?? 0)
}
