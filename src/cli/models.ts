// Commands about the catalog.
import type { Command } from 'commander'
import { resolve } from 'node:path'
import { findBuiltin } from '../app/builtin.ts'
import { readConfig } from '../config.ts'
import { createLogger } from '../app/log.ts'
import { createEngines, guardEngines, openCatalog, openSecrets, readModels } from '../app/models.ts'
import { print } from './print.ts'

/** Adds the commands. */
export function addModelCommands(program: Command): void {
  const models = program.command('models').description('The catalog of models')
  models
    .command('list')
    .description('List all models of the catalog, and why a model is not ready')
    .action(async ({ json }: { json?: boolean }) => {
      const config = readConfig(process.env)
      const builtin = await findBuiltin()
      const secrets = openSecrets()
      const engines = guardEngines(createEngines(builtin, config, createLogger('silent'), null, secrets), secrets)
      const catalog = await openCatalog(builtin, config, engines)
      const rows = catalog.models.map((model) => ({
        id: model.id,
        category: model.category,
        price: model.priceSummary,
        ready: catalog.unready(model) ?? 'yes',
      }))
      print(
        json
          ? rows.map(({ ready, ...row }) => ({
              ...row,
              ready: ready === 'yes',
              reason: ready === 'yes' ? null : ready,
            }))
          : rows,
        json,
      )
      await Promise.all(engines.map((engine) => engine.close()))
    })
  models
    .command('check [files...]')
    .description('Check catalog files, by default those that the server would load; exit status 1 if one is invalid')
    .action(async (files: string[], { json }: { json?: boolean }) => {
      const config = readConfig(process.env)
      const builtin = await findBuiltin()
      const engines = createEngines(builtin, config, createLogger('silent'), null, openSecrets())
      const paths =
        files.length > 0 ? files.map((file) => resolve(file)) : [...(builtin?.catalog ?? []), ...config.catalog]
      print({ ok: true, models: readModels(paths, engines).length }, json)
      await Promise.all(engines.map((engine) => engine.close()))
    })
}
