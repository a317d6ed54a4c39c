// A server is killed with SIGKILL between steps of remote runs. Many more kills: kill-remote.long.test.ts.
import { test } from 'vitest'
import { seed } from '../seed.ts'
import { killRemoteRuns } from './kill-remote.ts'

const kills = 3

test(`${kills} kills pay no remote run twice, and lose none`, () => killRemoteRuns(kills, seed))
