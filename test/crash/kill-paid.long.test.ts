// A server whose runs cost money elsewhere is killed with SIGKILL again and again. MEDIAGEN_TEST_KILLS=<count> makes another run.
import { test } from 'vitest'
import { seed } from '../seed.ts'
import { killWhilePaying } from './kill-paid.ts'

const kills = Number(process.env['MEDIAGEN_TEST_KILLS'] ?? 50)

test(`${kills} kills pay nothing twice and lose nothing that was paid (seed ${seed})`, () =>
  killWhilePaying(kills, seed))
