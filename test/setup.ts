// Before each file: properties are tried on what the seed of the run makes of them.
import { configureGlobal } from 'fast-check'
import { seed } from './seed.ts'

configureGlobal({ seed })
