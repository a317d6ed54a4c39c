// Looks at every part of an installation and says what is wrong. Nothing is changed but a file that is written, flushed and removed.
import { execFile } from 'node:child_process'
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Config, findUnknownSettings, parseSettings } from '../../../config.ts'
import { StartupError } from '../../../core/errors.ts'
import type { Store } from '../../../core/store.ts'
import { readCredentials } from '../../../files/media/provenance/sign/certificate.ts'
import { findDamage, readJournal } from '../../../storage/sqlite/copy.ts'
import { findBuiltin } from '../../builtin.ts'
import { tryBucket } from '../../files.ts'
import { openIdleEngines, readModels } from '../../models.ts'
import { startSigner } from '../../signing.ts'
import { layOut } from '../../store/data-dir.ts'
import { openExistingStore } from '../../store/store.ts'
import { checkProviders, isBroken } from '../check-providers.ts'
import { findFileFaults } from './file-faults.ts'
import { checkRoom, type Finding, findProviderCommand, toDatabaseFinding } from './finding.ts'

const run = promisify(execFile)
const oldestNode = 24
// Leases, deadlines and signatures bear this much.
const mostApartMs = 5000
// Of a database whose changes are merged; it grows while a reader keeps them from being merged.
const mostWalBytes = 1024 ** 3
// A certificate is said to end so long before.
const soonMs = 30 * 86_400_000
const installC2pa = 'npm install --no-save --omit=dev --ignore-scripts @contentauth/c2pa-node@0.8.0'

/** What is looked at beside the usual. */
export interface DoctorOptions {
  /** Every file, with its content, instead of a sample of sizes. */
  readonly files: boolean
  /** Providers, which are asked over the network. */
  readonly network: boolean
}

/** Looks at everything. @param env the environment, whose settings may be wrong */
export async function examine(env: NodeJS.ProcessEnv, options: DoctorOptions): Promise<readonly Finding[]> {
  const { config, wrong } = parseSettings(env)
  const findings: Finding[] = [
    ...wrong.map(({ env: name, problem }) => ({ check: 'settings', problem, command: `unset ${name}` })),
    ...findUnknownSettings(env).map(({ env: name, similar }) => ({
      check: 'settings',
      problem: `${name} is not a setting${similar && `: ${similar}`}`,
      command: `unset ${name}`,
    })),
    ...checkRoom(config.dataDir).findings,
    ...(await checkPrograms(config)),
    ...(await checkCatalog(config)),
    ...checkFlush(config.dataDir),
    ...(await checkSigning(config)),
  ]
  const damage = config.databaseUrl === null ? checkFile(layOut(config.dataDir).database) : []
  findings.push(...damage, ...(await checkBucket(config)))
  // What a damaged file says of itself is not worth reading.
  if (!damage.some(({ command }) => command.startsWith('mediagen restore')))
    findings.push(...(await checkStore(config, options.files)))
  if (options.network) findings.push(...(await askProviders(config)))
  return findings
}

async function checkPrograms({ ffmpegPath, databaseUrl }: Config): Promise<Finding[]> {
  const findings: Finding[] = []
  const tell = (problem: string, command: string): void => void findings.push({ check: 'programs', problem, command })
  if (Number(process.versions.node.split('.')[0]) < oldestNode)
    tell(`Node ${process.versions.node} is older than ${oldestNode}`, `nvm install ${oldestNode}`)
  if (ffmpegPath !== null)
    await run(ffmpegPath, ['-version']).catch(() =>
      tell(`${ffmpegPath} (FFMPEG_PATH) does not run`, 'unset FFMPEG_PATH'),
    )
  if (databaseUrl !== null) {
    const { findProgramTrouble } = await import('../../../storage/postgres/dump.ts')
    // A database that does not answer is found elsewhere.
    const trouble = await findProgramTrouble('pg_dump', databaseUrl).catch(() => null)
    if (trouble) tell(`${trouble.needed}, and ${trouble.found}`, `apt-get install ${trouble.package}`)
  }
  return findings
}

async function checkCatalog(config: Config): Promise<Finding[]> {
  try {
    const builtin = await findBuiltin()
    await using idle = await openIdleEngines(builtin, config)
    const shipped = builtin?.catalog ?? []
    readModels([...shipped, ...config.catalog], idle.engines, shipped)
    return []
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    // The first of its faults.
    const problem = error.message.split('\n', 2).join(' ').replaceAll(/\s+/g, ' ')
    return [{ check: 'catalog', problem, command: 'mediagen admin models check' }]
  }
}

/** Signs a picture of one pixel, if outputs are to be signed. */
async function checkSigning(config: Config): Promise<Finding[]> {
  const { signCertificate: certificate, signKey: key } = config
  const tell = (problem: string, command: string): Finding[] => [{ check: 'signing', problem, command }]
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-doctor-'))
  try {
    await using signer = await startSigner(config, Date.now(), { folder })
    const endsAtMs = signer && readCredentials(config, Date.now())?.endsAtMs
    if (!endsAtMs || endsAtMs - Date.now() > soonMs) return []
    const day = new Date(endsAtMs).toISOString().slice(0, 10)
    return tell(
      `${certificate} (MEDIAGEN_SIGN_CERTIFICATE) ends on ${day}`,
      `openssl x509 -in ${certificate} -noout -dates`,
    )
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    const [, mend] = /: (chmod .*)$/.exec(error.message) ?? []
    const isMissing = error.message.includes('not installed')
    const nothing = key === null ? 'unset MEDIAGEN_SIGN_FAILURE' : `ls -l ${key}`
    const look = certificate === null ? nothing : `openssl x509 -in ${certificate} -noout -text`
    return tell(error.message.replace(/\.$/, ''), mend ?? (isMissing ? installC2pa : look))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Writes and flushes as the server does. */
function checkFlush(folder: string): Finding[] {
  const path = join(folder, `doctor-${process.pid}`)
  try {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return []
    const descriptor = openSync(path, 'w', 0o600)
    try {
      writeSync(descriptor, 'mediagen')
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    return []
  } catch (error) {
    const problem = `${folder} cannot be written and flushed: ${(error as Error).message}`
    const isRight = ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')
    return [{ check: 'flush', problem, command: isRight ? `ls -ld ${folder}` : 'dmesg --level=err,warn' }]
  } finally {
    rmSync(path, { force: true })
  }
}

function checkFile(path: string): Finding[] {
  const stats = statSync(path, { throwIfNoEntry: false })
  // The check of the store says so.
  if (!stats || stats.size === 0) return []
  const findings: Finding[] = []
  const tell = (problem: string, command: string): void => void findings.push({ check: 'database', problem, command })
  try {
    const [damage] = findDamage(path)
    if (damage !== undefined) tell(`${path} is damaged: ${damage}`, 'mediagen restore BACKUP')
    else if (readJournal(path) !== 'wal') tell(`${path} has no write-ahead log`, 'mediagen migrate')
  } catch (error) {
    findings.push(toDatabaseFinding(error))
  }
  const wal = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (wal > mostWalBytes) tell(`${path}-wal has ${(wal / 1024 ** 3).toFixed(1)} GiB`, 'systemctl restart mediagen')
  if ((stats.mode & 0o007) !== 0)
    tell(`${path}, which has the keys that sign quotes, is open to all users`, `chmod o= ${path}`)
  return findings
}

async function checkBucket(config: Config): Promise<Finding[]> {
  try {
    await tryBucket(config)
    return []
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    return [
      {
        check: 'files',
        problem: error.message.replace(/\.$/, ''),
        command: "printenv | grep -E '^(AWS|MEDIAGEN_FILES)_'",
      },
    ]
  }
}

async function checkStore(config: Config, everyFile: boolean): Promise<Finding[]> {
  try {
    await using store = await openExistingStore(config)
    const { problems } = await store.verifyLedger()
    const ledger = problems.map((problem) => ({
      check: 'ledger',
      problem,
      command: 'mediagen admin ledger verify --repair-plan',
    }))
    return [...(await checkClock(store)), ...ledger, ...(await findFileFaults(store, config, everyFile))]
  } catch (error) {
    return [toDatabaseFinding(error)]
  }
}

/** The clock of PostgreSQL, and records from the future, which a clock has left that went back. */
async function checkClock(store: Store): Promise<Finding[]> {
  await store.check()
  const aheadMs = Date.now() - store.nowMs()
  const { items } = await store.listJobs({
    accountId: null,
    status: null,
    model: null,
    idempotencyKey: null,
    search: null,
    withDeleted: true,
    limit: 1,
    offset: 0,
  })
  const futureMs = Math.max(0, ...items.map(({ createdAtMs }) => createdAtMs - store.nowMs()))
  const apartMs = Math.max(Math.abs(aheadMs), futureMs)
  if (apartMs <= mostApartMs) return []
  const problem =
    futureMs > mostApartMs
      ? `the newest job was started ${Math.round(futureMs / 1000)} s in the future`
      : `this machine is ${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the database`
  return [{ check: 'clock', problem, command: 'timedatectl set-ntp true' }]
}

async function askProviders(config: Config): Promise<Finding[]> {
  const reports = config.catalog.length > 0 ? await checkProviders(config, 10_000) : []
  return reports
    .filter((report) => isBroken(report) || report.models.some((model) => model.waits_for !== null))
    .map(({ name, reason, models }) => {
      const problem = reason ?? models.find((model) => model.waits_for !== null)?.waits_for ?? 'does not answer'
      return { check: 'providers', problem: `${name}: ${problem}`, command: findProviderCommand(problem) }
    })
}
