// Access to the data directory makes an operator: a transport to AdminService without a key, and the log of administrative acts.
import { userInfo } from 'node:os'
import type { Transport } from '@connectrpc/connect'
import type { Logger } from 'pino'
import { AdminService } from '../../../gen/mediagen/v1/admin_pb.ts'
import type { Config } from '../../config.ts'
import type { AuditEntry, AuditStore } from '../../core/accounts/audit.ts'
import { toSessionTerms } from '../../core/accounts/sign-in.ts'
import type { Clock } from '../../core/clock.ts'
import type { Store } from '../../core/store.ts'
import { createFilesFolders } from '../../files/folders.ts'
import { createInProcessTransport } from '../../rpc/in-process.ts'
import { trustService } from '../../rpc/pipeline.ts'
import { type AdminSettings, createAdminService } from '../../services/admin/admin.ts'
import { createBlobs } from '../files.ts'

/** Creates a transport to AdminService for a process with access to the store. Acts are recorded with the OS user. */
export function createOperatorTransport(store: Store, config: Config, clock: Clock = store): Transport {
  const folders = createFilesFolders(createBlobs(config), clock)
  const admin = createAdminService({
    store,
    clock,
    folders,
    settings: readAdminSettings(config),
    server: null,
    osUser: readOsUser(),
  })
  return createInProcessTransport([trustService(AdminService, admin)])
}

/** What operators are shown of the settings. */
export function readAdminSettings(config: Config): AdminSettings {
  const { retainHours, keepJobsDays, timeZone, creditPrice } = config
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcAccess: access } = config
  return {
    retention: {
      filesMs: retainHours * 3_600_000,
      jobsMs: keepJobsDays && keepJobsDays * 86_400_000,
      reviewMs: config.reviewHours * 3_600_000,
      filesIn: config.filesUrl === null ? 'disk' : 's3',
      uploadBytesPerAccount: config.maxStoredUploadBytes,
    },
    timeZone,
    creditPrice,
    sessionTerms: issuer && access && toSessionTerms(issuer, clientId, access),
  }
}

/** Writes a line for each administrative act of this process, from every door. */
export function logActs(store: AuditStore, log: Logger): void {
  store.onAct((entry) => log.info(toLine(entry), 'administrative act'))
}

function toLine({ entryId, act, subject, accountId, actor, before, after }: AuditEntry) {
  return {
    audit_id: entryId,
    act,
    subject,
    ...(accountId !== null && { concerns: accountId }),
    ...(actor.kind === 'key' && { key_id: actor.keyId, account_id: actor.accountId }),
    ...(actor.kind === 'command_line' && { os_user: actor.osUser }),
    before,
    after,
  }
}

/** A container may run under an id without a user. */
function readOsUser(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
