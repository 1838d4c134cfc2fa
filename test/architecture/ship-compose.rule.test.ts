import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { checkConfiguration } from '../../core/checks/check-configuration.js'
import { packageRoot } from '../../core/package-root.js'
import { loadPages } from '../../core/host/load-pages.js'
import { readDocument } from '../support/document.js'
import { startServer } from '../support/server/server.js'

interface Service {
  readonly image: string
  readonly user?: string
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly stop_grace_period?: string
  readonly healthcheck?: { readonly test?: readonly string[] }
  readonly networks?: readonly string[]
  readonly volumes?: readonly string[]
  readonly secrets?: readonly (string | { readonly source: string; readonly target: string })[]
  readonly depends_on?: readonly string[] | Readonly<Record<string, { readonly condition: string }>>
  readonly ports?: readonly string[]
}

const compose = parse(readDocument('compose.yaml'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: Readonly<Record<string, { ipam?: { config: [{ subnet: string }] }; internal?: boolean } | null>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}
const services = Object.entries(compose.services)
const sourceOf = (secret: string | { readonly source: string }): string =>
  typeof secret === 'string' ? secret : secret.source

const directory = mkdtempSync(join(tmpdir(), 'signet-compose-'))
afterAll(() => rmSync(directory, { recursive: true }))

/** The configuration of the replicas, with secrets beside it as in the container. */
const configuration = join(directory, 'signet.yaml')
cpSync(join(packageRoot, 'deploy/signet.yaml'), configuration)
const secrets = join(directory, 'secrets')
const makeSecrets = () => spawnSync('sh', [join(packageRoot, 'deploy/make-secrets.sh'), secrets], { encoding: 'utf8' })
const made = makeSecrets()
const read = (name: string) => spawnSync('cat', [join(secrets, name)], { encoding: 'utf8' }).stdout

describe('compose.yaml', () => {
  it('refers only to defined networks, volumes, secrets and services, and uses all of them', () => {
    const used = {
      networks: services.flatMap(([, { networks = [] }]) => networks),
      volumes: services.flatMap(([, { volumes = [] }]) =>
        volumes.map((volume) => volume.split(':')[0]!).filter((name) => !name.startsWith('.')),
      ),
      secrets: services.flatMap(([, { secrets: own = [] }]) => own.map(sourceOf)),
    }
    for (const [kind, names] of Object.entries(used))
      expect(Object.keys(compose[kind as keyof typeof used]).toSorted(), kind).toEqual([...new Set(names)].toSorted())
    const needed = services.flatMap(([, { depends_on = [] }]) =>
      Array.isArray(depends_on) ? (depends_on as string[]) : Object.keys(depends_on),
    )
    expect(needed.filter((name) => !(name in compose.services))).toEqual([])
  })

  it('waits only for services with a health check', () => {
    const waited = services.flatMap(([, { depends_on = {} }]) =>
      Object.entries(depends_on).flatMap(([name, dependency]) =>
        (dependency as { condition?: string }).condition === 'service_healthy' ? [name] : [],
      ),
    )
    expect(waited.length).toBeGreaterThan(2)
    expect(waited.filter((name) => compose.services[name]?.healthcheck?.test === undefined)).toEqual([])
  })

  it('mounts files that exist', () => {
    const mounted = services.flatMap(([, { volumes = [] }]) =>
      volumes.map((volume) => volume.split(':')[0]!).filter((name) => name.startsWith('./')),
    )
    expect(mounted.length).toBeGreaterThan(5)
    expect(mounted.filter((path) => !existsSync(join(packageRoot, path)))).toEqual([])
  })

  it('gets each secret from make-secrets.sh, once', () => {
    expect(made.stderr).toBe('')
    const files = Object.values(compose.secrets).map(({ file }) => file.replace('./deploy/secrets/', ''))
    expect(files.filter((name) => !readdirSync(secrets).includes(name))).toEqual([])
    const before = readdirSync(secrets).map(read)
    expect(new Set(before).size).toBe(before.length)
    makeSecrets()
    expect(readdirSync(secrets).map(read)).toEqual(before)
    expect(readDocument('.gitignore')).toContain('deploy/secrets/')
  })

  it('runs two unprivileged replicas, and stops them only after their drain', () => {
    const replicas = ['signet-1', 'signet-2'].map((name) => compose.services[name]!)
    for (const replica of replicas) {
      expect(replica).toMatchObject({ read_only: true, cap_drop: ['ALL'], image: 'signet' })
      expect(Number.parseInt(replica.stop_grace_period!)).toBeGreaterThan(25)
      expect(replica.healthcheck?.test).toEqual(['CMD', 'node', '/app/deploy/health-check.js', 'ready'])
    }
    const dataOf = ({ volumes = [] }: Service) => volumes.find((volume) => volume.endsWith(':/data'))
    expect(new Set(replicas.map(dataOf)).size).toBe(2)
    const published = services.flatMap(([, { ports = [] }]) => ports)
    expect(published.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
    expect(compose.networks['stores']).toEqual({ internal: true })
  })

  it('gives the replicas a valid configuration and the secrets that it reads', async () => {
    const { config, warnings } = await checkConfiguration(configuration, {}, loadPages)
    expect(warnings).toEqual([])
    expect(config.storage.records.use).toBe('mongodb')
    expect(config.storage.ephemeral.use).toBe('redis')
    expect(config.trusted_proxies).toEqual([compose.networks['front']!.ipam!.config[0].subnet])
    const wanted = [...readDocument('deploy/signet.yaml').matchAll(/\$file: (secrets\/[\w-]+)/g)].map(
      ([, path]) => path,
    )
    for (const name of ['signet-1', 'signet-2', 'migrate']) {
      const mounted = compose.services[name]!.secrets!.map((secret) => (secret as { target: string }).target)
      expect(mounted.toSorted()).toEqual(wanted.map((path) => `/config/${path}`).toSorted())
    }
    expect(compose.services['haproxy']!.ports).toEqual([`127.0.0.1:${new URL(config.issuer).port}:8080`])
  })

  it('names the stores by their service names', () => {
    const [, hosts = ''] = /@([^/]+)\//.exec(read('mongodb-uri')) ?? []
    expect(hosts.split(',').filter((host) => !(host in compose.services))).toEqual([])
    expect(hosts.split(',')).toHaveLength(3)
    expect(compose.services).toHaveProperty(new URL(read('redis-uri')).hostname)
    const prefix = /key_prefix: '(.+?)'/.exec(readDocument('deploy/signet.yaml'))?.[1]
    expect(read('redis-acl')).toContain(` ~${prefix}* `)
    expect(read('redis-acl')).toContain(`>${new URL(read('redis-uri')).password} `)
  })
})

describe('Prometheus and Grafana', () => {
  const prometheus = parse(readDocument('deploy/prometheus.yml')) as {
    scrape_configs: [{ authorization: object; static_configs: [{ targets: string[] }] }]
    rule_files: string[]
  }
  const rules = parse(readDocument('deploy/alerts.yml')) as { groups: [{ rules: { expr: string }[] }] }
  const dashboard = JSON.parse(readDocument('deploy/grafana/dashboards/signet.json')) as {
    panels: { id: number; title: string; targets?: { expr: string; legendFormat: string }[] }[]
  }
  const queries = dashboard.panels.flatMap(({ targets = [] }) => targets)

  it('scrape the admin listener of each replica, with its token', () => {
    const [{ authorization, static_configs }] = prometheus.scrape_configs
    const admin = /admin: \{[^}]*port: (\d+)/.exec(readDocument('deploy/signet.yaml'))?.[1]
    expect(static_configs[0].targets).toEqual([`signet-1:${admin}`, `signet-2:${admin}`])
    const file = compose.services['prometheus']!.secrets![0] as { source: string; target: string }
    expect(authorization).toEqual({ credentials_file: file.target.replace('/etc/prometheus/', '') })
    const mounted = compose.services['prometheus']!.volumes!.map((volume) => volume.split(':')[1])
    for (const name of prometheus.rule_files) expect(mounted).toContain(`/etc/prometheus/${name}`)
  })

  it('query only metrics that the service exposes', async () => {
    await using server = await startServer()
    const text = await (await fetch(`${server.admin}/metrics`)).text()
    const types = new Map([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]))
    const expressions = [...rules.groups[0].rules, ...queries].map(({ expr }) => expr)
    const named = expressions.flatMap((expr) => expr.match(/\b(?:signet|process|nodejs)_\w+/g) ?? [])
    const known = (name: string) =>
      types.has(name) || types.get(name.replace(/_(?:bucket|sum|count)$/, '')) === 'histogram'
    expect(named.length).toBeGreaterThan(30)
    expect(named.filter((name) => !known(name))).toEqual([])
    // And all that it tells is to be seen.
    const seen = new Set(named.map((name) => name.replace(/_bucket$/, '')))
    const unseen = [...types.keys()].filter((name) => name.startsWith('signet_') && !seen.has(name))
    expect(unseen).toEqual([])
  })

  it('use only labels in legends that the query keeps', () => {
    const lost = queries.flatMap(({ expr, legendFormat }) => {
      const kept = /\bby \(([^)]+)\)/.exec(expr)?.[1]?.split(', ')
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
      return kept === undefined ? [] : shown.filter((label) => !kept.includes(label))
    })
    expect(lost).toEqual([])
    const ids = dashboard.panels.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })
})
