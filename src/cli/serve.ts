// `serve`: runs a server until a signal ends it.
import type { Command } from 'commander'
import type { App } from '../app/app.ts'
import { startWriterAhead } from '../app/store/writer-ahead.ts'
import { readConfig } from '../config.ts'
import { print, type Printed } from './user/print.ts'

/** Adds the command. */
export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('Run the server until it is stopped, with Ctrl-C or SIGTERM')
    .option('--core-url <url>', 'serve only REST, in front of another server at this gRPC address (MEDIAGEN_CORE_URL)')
    .option('--port <port>', 'HTTP port (MEDIAGEN_HTTP_PORT)')
    .option('--json', 'print the addresses as one line of JSON')
    .action(async ({ coreUrl, port, json }: { coreUrl?: string; port?: string; json?: boolean }) => {
      const config = readConfig({
        ...process.env,
        ...(coreUrl !== undefined && { MEDIAGEN_CORE_URL: coreUrl }),
        ...(port !== undefined && { MEDIAGEN_HTTP_PORT: port }),
      })
      // Installed first, so a signal during the start also stops the server properly.
      const stopped = stopSignal()
      // The thread loads its modules while these are loaded.
      const threads = startWriterAhead(config)
      const { openSecrets } = await import('../app/models.ts')
      const { openLog, startApp } = await import('../app/start.ts')
      const secrets = openSecrets()
      const { log, traces } = await openLog(config, secrets, process.env)
      {
        await using app = await startApp(config, { secrets, log, traces, threads })
        if (json) print(toAddresses(app), true)
        await stopped
        log.info('stopping')
      }
      // A collector that does not answer would keep the process for as long as traces are tried to be sent.
      if (!(await traces.close())) process.exit()
    })
}

/** Prints the operator's addresses too, if there are any. */
function toAddresses({ httpUrl, grpcUrl, adminUrl, adminGrpcUrl }: App): Printed {
  return {
    http_url: httpUrl,
    grpc_url: grpcUrl,
    ...(adminUrl !== null && { admin_url: adminUrl }),
    ...(adminGrpcUrl !== null && { admin_grpc_url: adminGrpcUrl }),
  }
}

// A terminal sends Ctrl-C to npm and to this process, and npm forwards its own: two signals for one request to stop.
const sameWishMs = 1000

/** Resolves at the first SIGTERM or SIGINT; a second one, later than a forwarded first, exits at once. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let firstAt: number | null = null
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        const now = performance.now()
        if (firstAt !== null && now - firstAt > sameWishMs) process.exit(1)
        firstAt ??= now
        resolve()
      })
    }
  })
}
