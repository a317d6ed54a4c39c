// The real server is killed with SIGKILL again and again between steps of remote runs. MEDIAGEN_TEST_KILLS=<count> makes another run.
import { test } from 'vitest'
import { seed } from '../seed.ts'
import { killRemoteRuns } from './kill-remote.ts'

const kills = Number(process.env['MEDIAGEN_TEST_KILLS'] ?? 50)

test(`${kills} kills pay no remote run twice, and lose none (seed ${seed})`, () => killRemoteRuns(kills, seed))
