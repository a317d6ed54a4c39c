// What runs in a forked process: looks into one output at a time.

import { serveTasks } from '@mediagen/engine/serve.ts'
import { type InspectRequest, inspectOutput } from './inspect.ts'

serveTasks((request) => inspectOutput(request as InspectRequest)).ready()
