// A watch over the real program while its gRPC port is flooded. docs/decisions/grpc-port.md says what bounds it.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Target } from '../fuzz/target.ts'
import { openRawClient, toFrame } from './raw-grpc.ts'

// Each attack cost 400 to 1,700 MB before, and most of them more than a second of /healthz on a quiet machine, which is printed.
const mostGrowthMb = 250
/** How long an attack lasts, in milliseconds. */
export const attackMs = 12_000
export const createQuote = '/mediagen.v1.QuotesService/CreateQuote'

/** Attacks a server of its own; a caller with a key is answered while that goes on and afterwards. */
export async function attack(target: Target, run: () => Promise<void>): Promise<void> {
  const before = target.residentMb()
  using client = await openRawClient(target.grpcUrl, target.key)
  const ask = () => client.call('WalletService/GetWallet', { body: toFrame(Buffer.alloc(0)) }).ended
  const served = { status: 0, message: '' }
  expect(await ask()).toMatchObject(served)
  const running = run()
  await sleep(attackMs / 2)
  expect(await ask(), 'amid the attack').toMatchObject(served)
  await running
  expect(await ask(), 'after the attack').toMatchObject(served)
  const worst = target.worst()
  console.log(
    `resident ${Math.round(before)} MB before, ${worst.residentMb} MB at most; longest /healthz ${worst.healthzMs} ms`,
  )
  expect(worst.alive).toBe(true)
  expect(target.errors).toEqual([])
  expect(worst.residentMb - before).toBeLessThan(mostGrowthMb)
}

/** Does something again and again for as long as an attack lasts. */
export async function keepOn(again: (turn: number) => Promise<unknown>): Promise<void> {
  const until = performance.now() + attackMs
  for (let turn = 0; performance.now() < until; turn++) await again(turn)
}
