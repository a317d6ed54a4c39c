// A server is killed with SIGKILL under load. Many more kills: kill-server.long.test.ts.
import { test } from 'vitest'
import { seed } from '../seed.ts'
import { killUnderLoad } from './kill-server.ts'

const kills = 2

test(`${kills} kills lose, double or strand nothing that was acknowledged`, () => killUnderLoad(kills, seed))
