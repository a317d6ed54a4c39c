// P209: accounts take turns in reading lists.
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createReadTurns } from '../../src/storage/read-turns.ts'

/** Reads that end on request, in the order of their beginnings. */
function createReads() {
  const begun: { name: string; end(): void }[] = []
  return {
    begun: () => begun.map(({ name }) => name),
    read: (name: string) => () => new Promise<string>((resolve) => begun.push({ name, end: () => resolve(name) })),
    async endFirst(): Promise<void> {
      begun.shift()?.end()
      await setImmediate()
    },
  }
}

describe('turns', () => {
  test('accounts come one after the other, however many reads of each wait', async () => {
    const { begun, read, endFirst } = createReads()
    const turns = createReadTurns(1, 100)
    const all = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) => turns.list(name[0] ?? '', read(name)))
    const order: string[] = []
    await setImmediate()
    while (begun().length > 0) {
      order.push(...begun())
      await endFirst()
    }
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2'])
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'b2'])
  })

  test('the pieces of a list are turns of their own', async () => {
    const { begun, read, endFirst } = createReads()
    const turns = createReadTurns(1, 100)
    const walk = turns.walk('a', async (turn) => [await turn(read('piece 1')), await turn(read('piece 2'))])
    const other = turns.list('b', read('other'))
    await setImmediate()
    for (const name of ['piece 1', 'other', 'piece 2']) {
      expect(begun()).toEqual([name])
      await endFirst()
    }
    expect([await walk, await other]).toEqual([['piece 1', 'piece 2'], 'other'])
  })

  test('of the lists of one account the short ones come first, then the oldest go on to their ends', async () => {
    const { begun, read, endFirst } = createReads()
    const turns = createReadTurns(1, 100)
    const search = (name: string) =>
      turns.walk('a', async (turn) => {
        for (const piece of [1, 2, 3]) await turn(read(`${name} ${piece}`))
      })
    const all: Promise<unknown>[] = [search('one'), search('two'), search('three'), turns.list('a', read('short'))]
    const order: string[] = []
    await setImmediate()
    while (begun().length > 0) {
      order.push(...begun())
      await endFirst()
    }
    const [ones, twos] = [order.lastIndexOf('one 3'), order.lastIndexOf('two 3')]
    expect(order.slice(0, 4)).toEqual(['one 1', 'two 1', 'three 1', 'short'])
    expect(Math.max(ones, twos)).toBeLessThan(order.indexOf('three 2'))
    expect(order).toHaveLength(10)
    await Promise.all(all)
  })

  test('one account leaves slots to others, and room to wait', async () => {
    const { begun, read, endFirst } = createReads()
    const turns = createReadTurns(4, 8)
    const all = Array.from({ length: 6 }, () => turns.list('a', read('a')))
    await expect(turns.list('a', read('a'))).rejects.toMatchObject({ code: 'overloaded' })
    all.push(turns.list('b', read('b')), turns.list(null, read('operator')))
    await expect(turns.list('c', read('c'))).rejects.toMatchObject({ code: 'overloaded' })
    await setImmediate()
    expect(begun()).toEqual(['a', 'a', 'b', 'operator'])
    for (let n = 0; n < 8; n += 1) await endFirst()
    await Promise.all(all)
  })

  test('a read that fails gives its turn on', async () => {
    const turns = createReadTurns(1, 3)
    const failed = turns.list('a', () => Promise.reject(new Error('lost')))
    const next = turns.list('a', async () => 'read')
    await expect(failed).rejects.toThrow('lost')
    expect(await next).toBe('read')
  })
})
