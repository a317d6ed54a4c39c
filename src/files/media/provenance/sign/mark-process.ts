// The process that marks pictures, which it decodes: it has no key.
import { serveTasks } from '@mediagen/engine/serve.ts'
import { markOutput } from './mark-output.ts'
import type { MarkRequest } from './request.ts'

serveTasks((request) => markOutput(request as MarkRequest)).ready()
