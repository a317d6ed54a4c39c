// The simulation over two thousand other seeds for each kind.
import { describe } from 'vitest'
import { seed } from '../seed.ts'
import { simulationTests } from './remote/simulation-tests.ts'

describe(`remote runs with crashes and lost answers, seeds from ${seed}`, () => simulationTests(seed, 2000))
