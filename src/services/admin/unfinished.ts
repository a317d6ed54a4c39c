// Rpcs of the operator's console that are declared and do nothing yet.
import { Code, ConnectError } from '@connectrpc/connect'
import type { ServiceImpl } from '@connectrpc/connect'
import type { AdminService } from '../../../gen/mediagen/v1/admin_pb.ts'

function refuse(): never {
  throw new ConnectError('not implemented yet', Code.Unimplemented)
}

export const unfinished = {
  inspectAccount: refuse,
  renameAccount: refuse,
  freezeAccount: refuse,
  unfreezeAccount: refuse,
  closeAccount: refuse,
  cancelAnyJob: refuse,
  watchAllJobs: refuse,
  measureBacklog: refuse,
  listAllModels: refuse,
  listProviders: refuse,
  checkProviders: refuse,
  findUsage: refuse,
  getRetention: refuse,
} satisfies Partial<ServiceImpl<typeof AdminService>>
