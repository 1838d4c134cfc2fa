import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { checkConfiguration } from '../../core/checks/check-configuration.js'
import { packageRoot } from '../../core/package-root.js'
import { loadPages } from '../../core/host/load-pages.js'
import { readDocument } from '../support/document.js'

const folder = 'deploy/kubernetes'
const names = readdirSync(join(packageRoot, folder))
const objects = new Map(
  // Kubernetes reads YAML 1.1, in which 0440 is octal.
  names.map((name) => [name, parse(readDocument(`${folder}/${name}`), { version: '1.1' })]),
)
const get = (name: string) => objects.get(`${name}.yaml`)
const pods = [get('deployment'), get('migrate')].map(({ spec }) => spec.template)
const [server] = pods
const [container] = server.spec.containers
const labels = server.metadata.labels

const directory = mkdtempSync(join(tmpdir(), 'signet-kubernetes-'))
afterAll(() => rmSync(directory, { recursive: true }))

describe('the example for Kubernetes', () => {
  it('lists every file, in one namespace, without a secret', () => {
    const { resources, namespace } = get('kustomization')
    expect([...resources, 'kustomization.yaml'].toSorted()).toEqual(names.toSorted())
    for (const object of [...objects.values()].filter(({ kind }) => !/Kustomization|Namespace/.test(kind)))
      expect(object.metadata.namespace).toBe(namespace)
    expect([...objects.values()].filter(({ kind }) => kind === 'Secret')).toEqual([])
  })

  it('gives the Pods a valid configuration and the secrets that it reads', async () => {
    const written: string = get('config').data['signet.yaml']
    const wanted = [...written.matchAll(/\$file: (secrets\/[\w-]+)/g)].map(([, path = '']) => path)
    mkdirSync(join(directory, 'secrets'))
    for (const path of wanted) writeFileSync(join(directory, path), `value-of-${path}-in-this-test`)
    writeFileSync(join(directory, 'secrets/mongodb-uri'), 'mongodb://mongo.stores.svc/signet?replicaSet=signet')
    writeFileSync(join(directory, 'secrets/redis-uri'), 'rediss://redis.stores.svc:6379/0')
    writeFileSync(join(directory, 'signet.yaml'), written)
    const { config, warnings } = await checkConfiguration(join(directory, 'signet.yaml'), {}, loadPages)
    expect(warnings).toEqual([])
    for (const { spec } of pods) {
      const { projected } = spec.volumes.find(({ name }: { name: string }) => name === 'config')
      expect(projected.defaultMode).toBe(0o440)
      const [, { secret }] = projected.sources
      expect(secret.items.map(({ path }: { path: string }) => path).toSorted()).toEqual(wanted.toSorted())
    }
    const ports = Object.fromEntries(
      container.ports.map((port: { name: string; containerPort: number }) => [port.name, port.containerPort]),
    )
    expect(ports).toEqual({ http: config.listen.port, admin: config.admin.port })
  })

  it('selects its own Pods', () => {
    const selects = (selector: object) => expect(labels).toMatchObject(selector)
    selects(get('deployment').spec.selector.matchLabels)
    selects(get('service').spec.selector)
    selects(get('disruption-budget').spec.selector.matchLabels)
    selects(get('network-policy').spec.podSelector.matchLabels)
    // A job that ran is no server.
    expect(pods[1].metadata.labels).not.toMatchObject(get('service').spec.selector)
    expect(get('service').spec.ports[0].targetPort).toBe('http')
    expect(get('disruption-budget').spec.minAvailable).toBeLessThan(get('deployment').spec.replicas)
  })

  it('requests no privilege', () => {
    for (const { spec } of pods) {
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000 })
      expect(spec.securityContext.seccompProfile).toEqual({ type: 'RuntimeDefault' })
      for (const { securityContext, resources } of spec.containers) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
        expect(resources).toMatchObject({
          requests: { memory: expect.any(String) },
          limits: { memory: expect.any(String) },
        })
      }
    }
    expect(get('service-account').automountServiceAccountToken).toBe(false)
  })

  it('probes endpoints without a token from outside, and the others from inside the Pod', () => {
    const { startupProbe, livenessProbe, readinessProbe, env } = container
    for (const probe of [startupProbe, livenessProbe])
      expect(probe.httpGet).toEqual({ path: '/health/live', port: 'admin' })
    const [node, script, question] = readinessProbe.exec.command
    expect([node, question]).toEqual(['node', 'ready'])
    expect(readDocument('Dockerfile')).toContain(` ${script}\n`)
    expect(existsSync(join(packageRoot, script.replace('/app/', '')))).toBe(true)
    const [tokenFile] = env
    expect(tokenFile).toEqual({ name: 'SIGNET_ADMIN_TOKEN_FILE', value: '/config/secrets/admin-token' })
    // It waits 2 s itself.
    expect(readinessProbe.timeoutSeconds).toBeGreaterThan(2)
  })

  it('leaves time to drain', () => {
    expect(server.spec.terminationGracePeriodSeconds).toBeGreaterThan(25)
    expect(get('deployment').spec.strategy.rollingUpdate.maxUnavailable).toBe(0)
  })

  it('mounts the volumes that it declares', () => {
    for (const { spec } of pods) {
      const declared = spec.volumes.map(({ name }: { name: string }) => name)
      const mounted = spec.containers.flatMap(({ volumeMounts }: { volumeMounts: { name: string }[] }) => volumeMounts)
      expect(mounted.map(({ name }: { name: string }) => name).toSorted()).toEqual(declared.toSorted())
    }
  })
})

it('the shell scripts of deploy pass their checks', () => {
  const scripts = readdirSync(join(packageRoot, 'deploy')).filter((name) => name.endsWith('.sh'))
  expect(scripts.length).toBeGreaterThan(1)
  for (const name of scripts) {
    const path = join(packageRoot, 'deploy', name)
    const shell = /^#!.*bash/.test(readDocument(`deploy/${name}`)) ? 'bash' : 'sh'
    expect(spawnSync(shell, ['-n', path], { encoding: 'utf8' }), name).toMatchObject({ status: 0, stderr: '' })
  }
})
