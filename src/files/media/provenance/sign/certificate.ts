// The certificate by which outputs are signed, and its key: read and checked when a server starts.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { StartupError } from '../../../../core/errors.ts'

/** What signs. */
export interface Credentials {
  /** The certificate, and the chain below the root, in PEM. */
  readonly certificates: string
  /** PKCS #8 in PEM. */
  readonly key: string
  readonly algorithm: SigningAlgorithm
  /** Last moment of the certificate, in milliseconds since 1970. */
  readonly endsAtMs: number
}

export type SigningAlgorithm = 'es256' | 'es384' | 'es512' | 'ed25519' | 'ps256'

const curves: Readonly<Record<string, SigningAlgorithm>> = {
  prime256v1: 'es256',
  secp384r1: 'es384',
  secp521r1: 'es512',
}

/** The settings that name them. */
export interface SigningFiles {
  readonly signCertificate: string | null
  readonly signKey: string | null
  readonly signFailure: 'deliver' | 'review'
}

/**
 * Reads them; null if outputs are not to be signed.
 * @throws StartupError that names the setting which is wrong
 */
export function readCredentials(settings: SigningFiles, nowMs: number): Credentials | null {
  const { signCertificate, signKey, signFailure } = settings
  if (signCertificate === null && signKey === null) {
    if (signFailure === 'deliver') return null
    // Whoever wants no unsigned output must not get them all.
    throw new StartupError(
      'MEDIAGEN_SIGN_FAILURE is review, and nothing is signed: set MEDIAGEN_SIGN_CERTIFICATE and MEDIAGEN_SIGN_KEY too.',
    )
  }
  if (signCertificate === null || signKey === null)
    throw new StartupError('MEDIAGEN_SIGN_CERTIFICATE and MEDIAGEN_SIGN_KEY must both be set, or neither.')
  const certificates = read('MEDIAGEN_SIGN_CERTIFICATE', signCertificate)
  const certificate = parse('MEDIAGEN_SIGN_CERTIFICATE', signCertificate, () => new X509Certificate(certificates))
  const key = parse('MEDIAGEN_SIGN_KEY', signKey, () => createPrivateKey(read('MEDIAGEN_SIGN_KEY', signKey)))
  if ((statSync(signKey).mode & 0o007) !== 0)
    throw new StartupError(`Other users may read ${signKey} (MEDIAGEN_SIGN_KEY): chmod o= ${signKey}`)
  if (!certificate.checkPrivateKey(key))
    throw new StartupError(
      `The certificate ${signCertificate} (MEDIAGEN_SIGN_CERTIFICATE) does not belong to the key ${signKey} (MEDIAGEN_SIGN_KEY).`,
    )
  const [fromMs, endsAtMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  if (nowMs < fromMs || nowMs > endsAtMs)
    throw new StartupError(
      `The certificate ${signCertificate} (MEDIAGEN_SIGN_CERTIFICATE) is valid from ${toDay(fromMs)} to ${toDay(endsAtMs)} only.`,
    )
  return {
    certificates,
    key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    algorithm: toAlgorithm(key),
    endsAtMs,
  }
}

function toAlgorithm({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): SigningAlgorithm {
  const algorithm = type === 'ec' ? curves[details?.namedCurve ?? ''] : undefined
  if (algorithm !== undefined) return algorithm
  if (type === 'ed25519') return 'ed25519'
  if (type === 'rsa' || type === 'rsa-pss') return 'ps256'
  throw new StartupError(`MEDIAGEN_SIGN_KEY must be a key of P-256, P-384, P-521, Ed25519 or RSA, and is ${type}.`)
}

function read(setting: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new StartupError(`${path} (${setting}) cannot be read: ${(cause as Error).message}`, { cause })
  }
}

function parse<Parsed>(setting: string, path: string, step: () => Parsed): Parsed {
  try {
    return step()
  } catch (cause) {
    if (cause instanceof StartupError) throw cause
    throw new StartupError(`${path} (${setting}) has none in PEM: ${(cause as Error).message}`, { cause })
  }
}

function toDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
