// Names of strangers are resolved without holding up others: a name whose servers never answer delays no other name.
import type { LookupAddress } from 'node:dns'
import { expect, test } from 'vitest'
import { everyHost, onlyPublic, parseAllowedHosts } from '../../src/outgoing/hosts.ts'
import { createNameResolver, type NameResolverOptions } from '../../src/outgoing/name-resolver.ts'
import { openNameServer } from './name-server.ts'

const zone = (name: string) =>
  name.endsWith('.silent.test') ? 'silent' : name === 'good.test' ? ['93.184.215.14', '93.184.215.15'] : 'unknown'

/** A resolver that asks only the test's name server, and what of it went to the operating system. */
function open(server: { address: string }, options: Partial<NameResolverOptions> = {}) {
  const bySystem: string[] = []
  const system = (name: string, _options: object, callback: (error: null, found: LookupAddress[]) => void) => {
    bySystem.push(name)
    callback(null, [{ address: '127.0.0.1', family: 4 }])
  }
  const names = createNameResolver({
    allowed: onlyPublic,
    servers: [server.address],
    tryMs: 200,
    system: system as unknown as NonNullable<NameResolverOptions['system']>,
    ...options,
  })
  const resolve = (name: string): Promise<string[] | string> =>
    new Promise((done) =>
      names.resolve(name, { all: true }, (error, found) =>
        done(error ? String(error.code) : found.map(({ address }) => address)),
      ),
    )
  return { names, resolve, bySystem }
}

test('a hundred names whose servers never answer delay no other name, and fail in time', async () => {
  await using server = await openNameServer(zone)
  const { resolve, bySystem } = open(server)
  const silent = Array.from({ length: 100 }, (_, index) => resolve(`a${index}.silent.test`))
  let pending = silent.length
  for (const one of silent) void one.then(() => (pending -= 1))
  expect(await resolve('good.test')).toEqual(['93.184.215.14', '93.184.215.15'])
  expect(pending).toBe(silent.length)
  expect(new Set(await Promise.all(silent))).toEqual(new Set(['EAI_AGAIN']))
  expect(bySystem).toEqual([])
})

test('a name that is in no DNS is unknown, and the system is not asked for it', async () => {
  await using server = await openNameServer(zone)
  const { resolve, bySystem } = open(server)
  expect(await resolve('none.test')).toBe('ENOTFOUND')
  expect(await resolve('Good.Test.')).toHaveLength(2)
  expect(bySystem).toEqual([])
})

test('the system is asked for names that an operator allows, and for names of one label', async () => {
  await using server = await openNameServer(zone)
  const { resolve, bySystem } = open(server, { allowed: parseAllowedHosts('files.internal') })
  for (const name of ['files.internal', 'Files.Internal.', 'localhost', 'LOCALHOST.'])
    expect(await resolve(name), name).toEqual(['127.0.0.1'])
  expect(bySystem).toHaveLength(4)
  expect(server.asked).toEqual([])
})

test('where private networks are allowed, it is asked for names that are in no DNS, and for no silent ones', async () => {
  await using server = await openNameServer(zone)
  for (const allowed of [everyHost, parseAllowedHosts('10.0.0.0/8')]) {
    const { resolve, bySystem } = open(server, { allowed })
    expect(await resolve('in-a-hosts-file.test')).toEqual(['127.0.0.1'])
    expect(await resolve('one.silent.test')).toBe('EAI_AGAIN')
    expect(bySystem).toEqual(['in-a-hosts-file.test'])
  }
})

test('it is asked where no name server runs', async () => {
  let gone
  {
    await using server = await openNameServer(zone)
    gone = { address: server.address }
  }
  const { resolve, bySystem } = open(gone)
  expect(await resolve('good.test')).toEqual(['127.0.0.1'])
  expect(bySystem).toEqual(['good.test'])
})

test('running queries can be canceled', async () => {
  await using server = await openNameServer(zone)
  const { names, resolve } = open(server, { tryMs: 60_000 })
  const pending = resolve('one.silent.test')
  await expect.poll(() => server.asked.length).toBeGreaterThan(0)
  names.cancel()
  expect(await pending).toBe('EAI_AGAIN')
})
