// The operator's commands about the catalog.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { dump } from 'js-yaml'
import { findBuiltin } from '../../app/builtin.ts'
import { readConfig } from '../../config.ts'
import { StartupError } from '../../core/errors.ts'
import { escapeHidden, hasHidden } from '../../core/text/hidden-characters.ts'
import { print, say } from '../user/print.ts'
import { describeFileError } from '../user/words.ts'
import { addWideOption, readAll } from './common/act.ts'
import { withExample } from './common/examples.ts'
import { type Admin, openChosenServer, workHere } from './common/installation.ts'

/** Adds the commands. */
export function addModelCommands(parent: Command): void {
  const models = parent
    .command('models')
    .description('The models of the catalog; check and import work on files of this machine')
  addWideOption(withExample(models.command('list')))
    .description('List all models of the catalog, and why a model is not ready')
    .action(async ({ json, wide = false }: { json?: boolean; wide?: boolean }, command: Command) => {
      const server = await openChosenServer(command)
      const rows = server ? await server.explain(readModelsThere(server.admin)) : await readModelsHere()
      print(
        json
          ? rows.map(({ ready, ...row }) => ({
              ...row,
              ready: ready === 'yes',
              reason: ready === 'yes' ? null : ready,
            }))
          : rows,
        json,
        { wide },
      )
    })
  withExample(workHere(models.command('check [files...]')), 'catalog/models.yaml')
    .description(
      'Check catalog files, by default those that the server would load, and name models that end within 60 days; exit status 1 if one is invalid',
    )
    .action(async (files: string[], { json }: { json?: boolean }) => {
      const { listEnding, openIdleEngines, readModels } = await import('../../app/models.ts')
      const config = readConfig(process.env)
      const builtin = await findBuiltin()
      await using idle = await openIdleEngines(builtin, config)
      const paths =
        files.length > 0 ? files.map((file) => resolve(file)) : [...(builtin?.catalog ?? []), ...config.catalog]
      const checked = readModels(paths, idle.engines)
      const ending = listEnding(checked, Date.now())
      if (json) return print({ ok: true, models: checked.length, ending }, json)
      say(`The catalog is valid: ${checked.length} ${checked.length === 1 ? 'model' : 'models'}.\n`)
      for (const { id, words } of ending) say(`${id} ${words}.\n`)
    })
  withExample(workHere(models.command('import <kind> <target>')), 'fal fal-ai/flux/dev --provider fal')
    .description(
      'Print a catalog entry, without a price, made from what a provider publishes: cog URL, replicate OWNER/NAME, fal ID, comfyui WORKFLOW.json',
    )
    .requiredOption('--provider <name>', 'name of the provider in the catalog')
    .option('--base-url <url>', 'where the provider is, if not at its usual place')
    .option('--token-env <name>', 'environment variable that holds its key (default: REPLICATE_API_TOKEN, FAL_KEY)')
    .action(
      async (
        kind: string,
        target: string,
        {
          provider,
          baseUrl,
          tokenEnv,
          json,
        }: { provider: string; baseUrl?: string; tokenEnv?: string; json?: boolean },
      ) => {
        const { openSecrets } = await import('../../app/models.ts')
        const { importModel } = await import('../../app/operator/import-model.ts')
        const token = openSecrets().valueOf(tokenEnv ?? (kind === 'fal' ? 'FAL_KEY' : 'REPLICATE_API_TOKEN'))
        const today = new Date().toISOString().slice(0, 10)
        const { entry, media } = await importModel({
          kind,
          target,
          provider,
          baseUrl,
          token: kind === 'cog' ? undefined : token,
          today,
        }).catch((error: unknown) => {
          throw new StartupError(`Nothing was imported from ${target}: ${escapeHidden(describeFileError(error))}.`)
        })
        if (json) print(entry, true)
        else say(writeCatalog(entry))
        // Standard output is the file.
        say('Set price, and check id, category, modality and description.\n', process.stderr)
        if (media.length > 0)
          say(
            `Taken for media: ${media.map(escapeHidden).join(', ')}. Remove "format: media" where that is wrong.\n`,
            process.stderr,
          )
      },
    )
}

async function readModelsHere() {
  const { openCatalog, openIdleEngines } = await import('../../app/models.ts')
  const config = readConfig(process.env)
  const builtin = await findBuiltin()
  await using idle = await openIdleEngines(builtin, config)
  const catalog = await openCatalog(builtin, config, idle.engines)
  return catalog.models.map((model) => ({
    id: model.id,
    category: model.category,
    price: model.priceSummary,
    ready: catalog.unready(model) ?? 'yes',
  }))
}

async function readModelsThere(admin: Admin) {
  const models = await readAll('models', admin.listAllModels)
  return models.map(({ model, category, priceSummary, unreadyReason }) => ({
    id: model,
    category,
    price: priceSummary,
    ready: unreadyReason ?? 'yes',
  }))
}

/**
 * A catalog of one entry in YAML. With characters that act on a terminal it is JSON, which is YAML, too: all of its texts are in
 * quotes, in which such characters can be escaped and stay what they are.
 */
function writeCatalog(entry: object): string {
  const catalog = { models: [entry] }
  const yaml = dump(catalog, { lineWidth: 120 })
  return hasHidden(yaml.replaceAll('\n', '')) ? `${JSON.stringify(catalog, null, 2)}\n` : yaml
}
