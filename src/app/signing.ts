// Whether and how outputs are signed and marked, as the settings say.
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { StartupError } from '../core/errors.ts'
import { readCredentials } from '../files/media/provenance/sign/certificate.ts'
import { createSigner, type Signer, type SignerOptions } from '../files/media/provenance/sign/signer.ts'
import { trySigning } from '../files/media/provenance/sign/trial.ts'

/** The settings of signing. */
export type SigningConfig = Pick<
  Config,
  'signCertificate' | 'signKey' | 'signFailure' | 'signInput' | 'markOutputs' | 'childMemoryBytes' | 'maxOutputBytes'
>

const timeoutMs = 60_000

/**
 * Creates what signs outputs; null if the settings want nothing of it. The processes are forked on demand.
 * @param folder for the files of processes
 * @throws StartupError that names the setting which is wrong
 */
export function openSigner(
  config: SigningConfig,
  nowMs: number,
  processes: { readonly folder: string } & Pick<SignerOptions, 'containment' | 'limits'>,
): Signer | null {
  const credentials = readCredentials(config, nowMs)
  if (credentials === null && !config.markOutputs) return null
  return createSigner({
    credentials,
    marks: config.markOutputs,
    saysInput: config.signInput,
    maxRssBytes: config.childMemoryBytes,
    timeoutMs,
    maxBytes: config.maxOutputBytes,
    ...processes,
  })
}

/**
 * The same for a server, after it has signed a picture of one pixel.
 * @throws StartupError also if the certificate or the library does not serve
 */
export async function startSigner(...parts: Parameters<typeof openSigner>): Promise<Signer | null> {
  const [config, , { folder }] = parts
  const signer = openSigner(...parts)
  const trouble = signer && config.signCertificate !== null ? await trySigning(signer, join(folder, 'trial')) : null
  if (trouble === null) return signer
  await signer?.[Symbol.asyncDispose]()
  throw new StartupError(
    `Outputs cannot be signed by ${config.signCertificate} (MEDIAGEN_SIGN_CERTIFICATE): ${trouble.replace(/^It was not signed: /, '')}. docs/provenance.md says what is needed.`,
  )
}
