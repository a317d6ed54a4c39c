// A server is killed with SIGKILL between steps of remote runs. Many more kills: kill-remote.long.test.ts.
import { test } from 'vitest'
import { seed } from '../seed.ts'
import { killRemoteRuns } from './kill-remote.ts'

const kills = 1

test('a kill pays no remote run twice, and loses none', () => killRemoteRuns(kills, seed, 3))
