// A page whose first request failed is served to the next one.
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { addConsole } from '../../src/gateway/console.ts'

test('the console is served as soon as it can be made', async () => {
  await using app = Fastify()
  let tries = 0
  addConsole(app, 1, async () => {
    tries += 1
    if (tries === 1) throw new Error('EMFILE: too many open files')
    return {}
  })
  expect((await app.inject('/')).statusCode).toBe(500)
  expect((await app.inject('/')).statusCode).toBe(200)
  expect((await app.inject('/docs')).statusCode).toBe(200)
  expect(tries).toBe(2)
})
