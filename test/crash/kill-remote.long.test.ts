// The real server is killed with SIGKILL again and again between steps of remote runs. MEDIAGEN_TEST_KILLS=<count> makes another run.
import { test } from 'vitest'
import { seed } from '../seed.ts'
import { killRemoteRuns } from './kill-remote.ts'

const kills = Number(process.env['MEDIAGEN_TEST_KILLS'] ?? 50)

test(`${kills} kills pay no remote run twice, and lose none that may meet every kill (seed ${seed})`, () =>
  killRemoteRuns(kills, seed, 100))
const fewer = Math.ceil(kills / 3)
test(`${fewer} kills lose only runs that met as many as their model allows (seed ${seed})`, () =>
  killRemoteRuns(fewer, seed, 3))
