// What deploy/ says about the program is what the program is: settings, ports, paths, commands, metrics and how it ends.
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdtempDisposableSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { loadAll, YAML11_SCHEMA } from 'js-yaml'
import { afterAll, describe, expect, test } from 'vitest'
import manifest from '../package.json' with { type: 'json' }
import { findUnknownSettings, readConfig, settings } from '../src/config.ts'
import { createProgram } from '../src/main.ts'
import { startTestApp } from './test-app.ts'

const app = await startTestApp({ MEDIAGEN_ADMIN_PORT: '0' })
afterAll(() => app[Symbol.asyncDispose]())

const root = resolve(import.meta.dirname, '..')
const deploy = join(root, 'deploy')
const files: string[] = globSync('**/*', { cwd: deploy, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(deploy, join(entry.parentPath, entry.name)))
const read = (name: string): string => readFileSync(join(deploy, name), 'utf8')

type Env = Record<string, string>
// oxlint-disable-next-line typescript/no-explicit-any -- manifests have any shape
type Manifest = any

const manifests: Manifest[] = globSync('kubernetes/*.yaml', { cwd: deploy }).flatMap((file) => loadAll(read(file)))
const find = (kind: string, name: string): Manifest =>
  manifests.find((each) => each.kind === kind && each.metadata?.name === name)

/** The lines of an env file, or of the instructions ENV, as an environment. */
function toEnv(lines: string): Env {
  return Object.fromEntries(
    [...lines.matchAll(/\b([A-Z][A-Z0-9_]+)=(\S*)/g)].map(([, name = '', value = '']) => [name, value]),
  )
}

const dockerfile = read('Dockerfile')
const imageEnv = toEnv(/^ENV ([\s\S]*?[^\\])$/m.exec(dockerfile)?.[1] ?? '')

/** The environment of the container of a pod, over that of the image. */
function podEnv(pod: Manifest): Env {
  const [{ env = [] }] = pod.containers
  const own = env.map(({ name, value }: Manifest) => [name, value])
  const { data } = find('ConfigMap', 'mediagen')
  return { ...imageEnv, ...data, ...find('Secret', 'mediagen').stringData, ...Object.fromEntries(own) }
}

const secrets = {
  POSTGRES_PASSWORD: 'p',
  S3_ACCESS_KEY: 'k',
  S3_SECRET_KEY: 's',
  MEDIAGEN_PUBLIC_URL: 'https://x.example',
}
const compose: Manifest = loadAll(
  read('compose.yaml').replaceAll(/\$\{(\w+):\?\}/g, (_, name: keyof typeof secrets) => secrets[name]),
  { schema: YAML11_SCHEMA },
)[0]
const composed: [string, Manifest][] = Object.entries(compose.services).filter(
  ([, { image }]: [string, Manifest]) => image === 'mediagen',
) as [string, Manifest][]

const units = globSync('systemd/*.service', { cwd: deploy })
function readUnit(file: string) {
  const text = read(file).replaceAll('%i', '0')
  const values = (key: string): string[] =>
    [...text.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value)
  const given = values('EnvironmentFile').map((path) =>
    read(`systemd/${path.split('/').at(-1)}.example`).replaceAll(/^#.*$/gm, ''),
  )
  return { values, env: toEnv([...given, ...values('Environment')].join('\n')) }
}

const pods: [string, Manifest][] = manifests
  .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
  .map((each) => [each.metadata.name, each.spec.template.spec])

describe('settings', () => {
  test.each([...files, '../docs/run-on-a-server.md', '../docs/several-machines.md'])(
    '%s names only variables that exist',
    (file) => {
      const named = new Set(read(file).match(/\b(MEDIAGEN|AWS)_[A-Z0-9_]+\b/g))
      const known = new Set<string>(Object.values(settings).map(({ env }) => env))
      expect([...named].filter((name) => !known.has(name))).toEqual([])
    },
  )

  test.each([
    ['the image', imageEnv],
    ...composed.map(([name, { environment }]): [string, Env] => [`compose: ${name}`, { ...imageEnv, ...environment }]),
    ...pods.map(([name, pod]): [string, Env] => [`kubernetes: ${name}`, podEnv(pod)]),
    ...units.map((file): [string, Env] => [file, readUnit(file).env]),
  ])('%s has settings that the program takes', (_, env) => {
    expect(findUnknownSettings(env)).toEqual([])
    expect(() => readConfig(env)).not.toThrow()
  })
})

const commands = new Set((await createProgram()).commands.map((command) => command.name()))

test('what is started are commands of the program', () => {
  const started = [
    /^CMD \["(\w+)"\]$/m.exec(dockerfile)?.[1],
    ...composed.flatMap(([, { command = [] }]) => command),
    ...pods.flatMap(([, pod]) => pod.containers[0].args),
    ...units.flatMap((file) =>
      readUnit(file)
        .values('ExecStart')
        .map((line) => line.split(' ').at(2)),
    ),
  ]
  expect(started.length).toBeGreaterThan(8)
  expect(started.filter((name) => !commands.has(name ?? ''))).toEqual([])
  for (const file of units)
    expect(readUnit(file).values('ExecStart')[0]).toMatch(/^\/usr\/bin\/node \/opt\/mediagen\/bin\/mediagen\.js /)
  expect(existsSync(join(root, 'bin/mediagen.js'))).toBe(true)
})

test('the image has the Node that the program needs, and copies what is there', () => {
  const [, major] = /NODE_IMAGE=node:(\d+)/.exec(dockerfile) ?? []
  expect(manifest.engines.node).toBe(`>=${major}`)
  const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, list = '']) => list.split(' '))
  const kept = [...read('Dockerfile.dockerignore').matchAll(/^!(.*)$/gm)].map(([, path]) => path)
  expect(sources.length).toBeGreaterThan(8)
  for (const source of sources) {
    expect(existsSync(join(root, source)), source).toBe(true)
    expect(
      kept.some((path) => path === source || source.startsWith(`${path}/`)),
      source,
    ).toBe(true)
  }
})

test('who is told to stop has the time that the server takes, and ten seconds', () => {
  const graces: [string, number, number][] = [
    ...composed.map(([name, { environment, stop_grace_period: period }]): [string, number, number] => [
      name,
      Number(environment.MEDIAGEN_STOP_GRACE_SECONDS),
      Number.parseInt(period, 10),
    ]),
    ...pods
      .filter(([, pod]) => pod.terminationGracePeriodSeconds)
      .map(([name, pod]): [string, number, number] => {
        const [, pause = 0] = pod.containers[0].lifecycle?.preStop.exec.command ?? []
        return [
          name,
          Number(podEnv(pod)['MEDIAGEN_STOP_GRACE_SECONDS']) + Number(pause),
          pod.terminationGracePeriodSeconds,
        ]
      }),
    ...units
      .filter((file) => !file.includes('migrate'))
      .map((file): [string, number, number] => {
        const { env, values } = readUnit(file)
        return [file, Number(env['MEDIAGEN_STOP_GRACE_SECONDS']), Number(values('TimeoutStopSec')[0])]
      }),
  ]
  expect(graces.length).toBeGreaterThan(7)
  for (const [name, takes, has] of graces) expect(has - takes, name).toBeGreaterThanOrEqual(10)
})

describe('a server', () => {
  test('answers what probes ask, on the ports that they ask', async () => {
    for (const path of ['/healthz', '/readyz']) expect((await fetch(`${app.app.httpUrl}${path}`)).status).toBe(200)
    expect((await fetch(`${app.app.httpUrl}/metrics`)).status).toBe(404)
    const config = readConfig(imageEnv)
    const ports: Record<string, number | null> = {
      http: config.httpPort,
      grpc: config.grpcPort,
      admin: config.adminPort,
    }
    for (const [name, pod] of pods) {
      const [{ ports: opened = [], ...container }] = pod.containers
      for (const port of opened) expect(port.containerPort, name).toBe(ports[port.name])
      for (const [probe, path] of [
        ['livenessProbe', '/healthz'],
        ['startupProbe', '/healthz'],
        ['readinessProbe', '/readyz'],
      ] as const)
        if (container[probe]) expect(container[probe].httpGet).toEqual({ path, port: 'http' })
    }
    expect(dockerfile).toContain(`EXPOSE ${config.httpPort} ${config.grpcPort} ${config.adminPort}\n`)
    expect(dockerfile).toContain('${process.env.MEDIAGEN_HTTP_PORT}/healthz')
    const [monitored] = find('PodMonitor', 'mediagen').spec.podMetricsEndpoints
    expect([monitored.port, monitored.path]).toEqual(['admin', '/metrics'])
    for (const { port, targetPort } of find('Service', 'mediagen-api').spec.ports) expect(port).toBe(ports[targetPort])
  })

  test.each([
    'prometheus/alerts.yaml',
    'prometheus/alerts.test.yaml',
    'kubernetes/autoscaling.yaml',
    'grafana/dashboard.json',
  ])('%s names only metrics that exist', async (file) => {
    const metrics = await (await fetch(`${app.app.adminUrl}/metrics`)).text()
    const families = new Set(
      [...metrics.matchAll(/^# TYPE ((?:mediagen|process|nodejs)_\S+) (\w+)$/gm)].flatMap(([, name = '', type]) =>
        type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    )
    const named = new Set(read(file).match(/\b(?:mediagen|process|nodejs)_[a-z0-9_]+\b/g))
    expect(named.size).toBeGreaterThan(1)
    expect([...named].filter((name) => !families.has(name))).toEqual([])
  })
})

const promtool = (() => {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' })
    return ''
  } catch {
    return ' (no promtool on this machine)'
  }
})()

/** Runs promtool; throws with what it says. */
const check = (...args: string[]): string => execFileSync('promtool', args, { encoding: 'utf8' })

test.skipIf(promtool !== '')(`Prometheus takes the alert rules, and they do what their tests say${promtool}`, () => {
  expect(check('check', 'rules', join(deploy, 'prometheus/alerts.yaml'))).toContain('SUCCESS')
  expect(check('test', 'rules', join(deploy, 'prometheus/alerts.test.yaml'))).toContain('SUCCESS')
})

test.skipIf(promtool !== '')(`Prometheus takes every query of the dashboard and of the autoscaler${promtool}`, () => {
  const { panels } = JSON.parse(read('grafana/dashboard.json')) as { panels: { targets?: { expr: string }[] }[] }
  const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  expect(queries.length).toBeGreaterThan(20)
  const [trigger] = find('ScaledObject', 'mediagen-worker').spec.triggers
  const rules = [...queries, trigger.metadata.query].map((query: string, index) => ({
    record: `query_${index}`,
    expr: query.replaceAll('$__rate_interval', '5m'),
  }))
  using folder = mkdtempDisposableSync(join(tmpdir(), 'mediagen-rules-'))
  const file = join(folder.path, 'rules.yaml')
  // JSON is YAML, too.
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'queries', rules }] }))
  expect(check('check', 'rules', file)).toContain(`${rules.length} rules found`)
})
