// No job is ever paid twice, and no accepted run is forgotten, whatever crashes or is lost. Seeds are fixed here and vary in
// simulation.long.test.ts.
import { describe } from 'vitest'
import { simulationTests } from './simulation-tests.ts'

describe('remote runs with crashes and lost answers', () => simulationTests(1, 120))
