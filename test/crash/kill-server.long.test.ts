// The real server is killed with SIGKILL again and again under load. MEDIAGEN_TEST_KILLS=<count> makes another run.
import { test } from 'vitest'
import { seed } from '../seed.ts'
import { killUnderLoad } from './kill-server.ts'

const kills = Number(process.env['MEDIAGEN_TEST_KILLS'] ?? 50)

test(`${kills} kills lose, double or strand nothing that was acknowledged (seed ${seed})`, () =>
  killUnderLoad(kills, seed))
