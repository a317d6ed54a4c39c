// The probe process: inspects one output at a time.

import { serveTasks } from '@mediagen/engine/serve.ts'
import { inspectOutput } from './inspect.ts'
import type { InspectRequest } from './inspection.ts'

serveTasks((request) => inspectOutput(request as InspectRequest)).ready()
