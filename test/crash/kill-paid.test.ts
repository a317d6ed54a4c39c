// A server whose runs cost money elsewhere is killed with SIGKILL. Fifty kills: kill-paid.long.test.ts.
import { test } from 'vitest'
import { seed } from '../seed.ts'
import { killWhilePaying } from './kill-paid.ts'

const kills = 2

test(`${kills} kills pay nothing twice and lose nothing that was paid`, () => killWhilePaying(kills, seed))
