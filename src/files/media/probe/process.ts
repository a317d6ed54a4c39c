// The probe process: inspects one output at a time.

import { serveTasks } from '@mediagen/engine/serve.ts'
import { verifyManifest } from '../provenance/verify.ts'
import { inspectOutput } from './inspect.ts'
import type { InspectRequest, VerifyRequest } from './inspection.ts'

function perform(request: InspectRequest | VerifyRequest): Promise<unknown> {
  return 'verify' in request ? verifyManifest(request.verify.path, request.verify.contentType) : inspectOutput(request)
}

serveTasks((request) => perform(request as InspectRequest | VerifyRequest)).ready()
