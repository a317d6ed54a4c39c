// The type of every problem resolves to a page that explains it (P137).
import { afterAll, expect, test } from 'vitest'
import { problemKinds } from '../../src/gateway/problems/problem-kinds.ts'
import { startTestApp } from '../test-app.ts'
import { expectProblem } from './problem.ts'

const app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
afterAll(() => app[Symbol.asyncDispose]())

test('the type of a problem that was answered can be opened without a key', async () => {
  const { body } = await app.send('/v1/nothing')
  const page = await fetch(body.type)
  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(await page.text()).toContain(body.title)
})

test.each(Object.entries(problemKinds))(
  '%s has a page that names it, its status and what to do',
  async (code, kind) => {
    const { status, body } = await app.send(`/problems/${code}`, { key: null })
    expect(status).toBe(200)
    for (const part of [code, String(kind.http), kind.title]) expect(body).toContain(part)
    expect(body).toMatch(/^<!doctype html>/)
  },
)

test('/problems lists all of them', async () => {
  const { body } = await app.send('/problems', { key: null })
  for (const code of Object.keys(problemKinds)) expect(body).toContain(`/problems/${code}`)
})

test.each(['nonsense', 'toString', 'hasOwnProperty', '__proto__', '%3Cscript%3E'])(
  'there is no page for %s',
  async (code) => {
    expectProblem(await app.send(`/problems/${code}`, { key: null }), app.url, 'route_not_found')
  },
)

// What browsers send.
const forPeople = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

test.each(['/nothing', '/problems/nonsense', '/favicon.ico/%3Cscript%3E'])(
  'P371 a person who follows a wrong link to %s gets a page of the console, with status 404',
  async (path) => {
    const { status, headers, body } = await app.send(path, { key: null, headers: forPeople })
    expect([status, headers.get('content-type'), headers.get('vary')]).toEqual([
      404,
      'text/html; charset=utf-8',
      expect.stringContaining('accept'),
    ])
    expect(body).toMatch(/<h1>There is no such page<\/h1>.*href="\/#\/".*href="\/docs"/s)
    expect(body).not.toContain('<script>')
  },
)

test.each([
  ['/v1/nothing', 'GET', forPeople],
  ['/nothing', 'POST', forPeople],
  ['/console/main.js', 'GET', forPeople],
  ['/nothing', 'GET', { accept: '*/*' }],
  ['/nothing', 'GET', { accept: 'application/json' }],
])('P371 a program gets the problem: %s by %s', async (path, method, headers) => {
  expectProblem(await app.send(path, { key: null, method, headers }), app.url, 'route_not_found')
})
