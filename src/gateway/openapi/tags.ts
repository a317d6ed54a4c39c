// The groups of operations, by the first part of their path, and the gRPC service of each.

interface Tag {
  readonly name: string
  readonly description: string
  /** Service of `mediagen.v1` whose rpcs do the same. */
  readonly service?: string
  /** What paths begin with. */
  readonly paths: readonly string[]
}

/** All groups, in the order of a first use; the last one has everything else. */
export const tags: readonly Tag[] = [
  {
    name: 'Quotes',
    description: 'What a generation will cost. A quote charges nothing, and its price holds until it expires.',
    service: 'QuotesService',
    paths: ['/v1/quotes'],
  },
  {
    name: 'Generations',
    description: 'Starting, watching, canceling and deleting generations, and the jobs that they are.',
    service: 'GenerationService',
    paths: ['/v1/generate', '/v1/run', '/v1/jobs'],
  },
  {
    name: 'OpenAI',
    description: "The same for programs that speak OpenAI's interface.",
    paths: ['/v1/images', '/v1/audio'],
  },
  {
    name: 'Models',
    description: 'The catalog: models, their input schemas and prices.',
    service: 'CatalogService',
    paths: ['/v1/models'],
  },
  {
    name: 'Wallet',
    description: 'The balance of the account, every change of it, and what was charged by day, model, key and label.',
    service: 'WalletService',
    paths: ['/v1/wallet', '/v1/usage'],
  },
  {
    name: 'Account',
    description:
      'The account of the calling key, its keys without their text, their limits, and keys that a key makes.',
    service: 'AccountService',
    paths: ['/v1/account', '/v1/key'],
  },
  {
    name: 'Webhooks',
    description: 'Endpoints that are notified when jobs end, and what was sent to them.',
    service: 'WebhooksService',
    paths: ['/v1/webhooks'],
  },
  {
    name: 'Files',
    description: 'Uploads to use as inputs, and the download of uploads and outputs.',
    service: 'FilesService',
    paths: ['/v1/files'],
  },
  { name: 'Downloads', description: 'Files under signed URLs, and samples of models.', paths: ['/assets', '/samples'] },
  {
    name: 'Server',
    description: 'Health, metrics and pages about the interface itself. They need no key.',
    paths: [''],
  },
]

/** The group of a path. */
export function findTag(path: string): Pick<Tag, 'name' | 'service'> {
  return tags.find(({ paths }) => paths.some((start) => path.startsWith(start))) as Tag
}
