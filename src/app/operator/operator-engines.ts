// The engines of the models that operators add: programs, remote servers, and one that makes nothing. A server without such models
// does not load them.
import type { Engine } from '@mediagen/engine/engine.ts'
import type { Config } from '../../config.ts'
import { createCommandEngine } from '../../engines/command.ts'
import { createNullEngine } from '../../engines/null.ts'
import { createRemote, type RemoteDeps } from '../remote.ts'

/** Creates the engines. */
export function createOperatorEngines(config: Config, deps: RemoteDeps): Engine[] {
  const { log } = deps
  return [
    createCommandEngine({
      environment: process.env,
      maxOutputBytes: config.maxOutputBytes,
      limits: config.programLimits,
      log: (entry) =>
        log.debug(
          { job_id: entry.jobId, model: entry.model, stream: entry.stream, line: entry.line },
          'a program said',
        ),
      onFailure: ({ jobId, model, end, stderr }) => log.warn({ job_id: jobId, model, end, stderr }, 'a program failed'),
    }),
    createNullEngine(),
    ...createRemote(config, deps),
  ]
}
