import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configSchema } from '../../config/schema.js'
import { observeDeployment } from '../../core/host/instruments/service-metrics.js'
import { Counts, Durations, durationBounds } from '../../core/observe/counts.js'
import { createMetrics } from '../../core/observe/metrics.js'
import { withAttestation } from '../support/clients/attestation.js'
import { basic } from '../support/clients/clients.js'
import { startTokenServer, type TokenServer } from '../support/server/token-server.js'
import { readDocument } from '../support/document.js'
import { publicClient, serviceClient, subject, testConfiguration, webClient } from '../support/server/server.js'

let host: TokenServer
beforeAll(async () => {
  // All that can be measured.
  host = await startTokenServer({ configure: withAttestation({ status_list: {} }) })
})
afterAll(() => host[Symbol.asyncDispose]())

const metrics = async (): Promise<string> => (await fetch(`${host.server.admin}/metrics`)).text()

/** The value of one series, and 0 where there is none. Labels in any order. */
const valueOf = async (name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> => {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  const line = (await metrics())
    .split('\n')
    .find((one) => one.startsWith(name) && /[ {]/.test(one[name.length] ?? '') && wanted.every((w) => one.includes(w)))
  return Number(line?.split(' ').at(-1) ?? 0)
}

describe('/metrics', () => {
  it('counts requests, tokens, refusals, replays, reuse and the operations of the stores', async () => {
    await host.expectGood()
    const good = { grant_type: 'client_credentials' }
    expect((await host.token(good, { authorization: basic(serviceClient) })).status).toBe(200)
    const wrong = { client_id: 'service', client_secret: 'wrong' }
    expect((await host.token(good, { authorization: basic(wrong) })).status).toBe(401)
    const { code } = await host.mint.code({ clientId: 'app' })
    expect((await host.redeem(code, {}, publicClient)).status).toBe(200)
    expect((await host.redeem(code, {}, publicClient)).status).toBe(400)
    expect((await fetch(`${host.server.issuer}/nothing/${subject}`)).status).toBe(404)

    const token = { endpoint: '/token' }
    // An answer is counted when it is out.
    await expect.poll(() => valueOf('signet_http_requests_total', { endpoint: 'other', status: '404' })).toBe(1)
    expect(await valueOf('signet_http_requests_total', { ...token, status: '200', error: 'none' })).toBe(4)
    expect(await valueOf('signet_http_requests_total', { ...token, status: '401', error: 'invalid_client' })).toBe(1)
    expect(await valueOf('signet_http_requests_total', { ...token, status: '400', error: 'invalid_grant' })).toBe(1)
    expect(await valueOf('signet_http_request_duration_seconds_count', { ...token, status: '2xx' })).toBe(4)
    expect(await valueOf('signet_http_request_duration_seconds_bucket', { ...token, status: '2xx', le: '+Inf' })).toBe(
      4,
    )
    const byCode = { grant: 'authorization_code' }
    expect(await valueOf('signet_tokens_issued_total', { ...byCode, type: 'access_token' })).toBe(2)
    expect(await valueOf('signet_tokens_issued_total', { ...byCode, type: 'id_token' })).toBe(2)
    expect(await valueOf('signet_tokens_issued_total', { grant: 'refresh_token', type: 'access_token' })).toBe(1)
    expect(await valueOf('signet_tokens_issued_total', { grant: 'client_credentials', type: 'access_token' })).toBe(1)
    const refusals = { event: 'token.refused', error: 'invalid_grant' }
    expect(await valueOf('signet_refusals_total', refusals)).toBe(1)
    expect(await valueOf('signet_refusals_total', { event: 'client.refused', error: 'invalid_client' })).toBe(1)
    expect(await valueOf('signet_reuse_total', { kind: 'code' })).toBe(1)
    expect(await valueOf('signet_replays_total', { collection: 'codes' })).toBe(1)
    const redeem = { role: 'records', collection: 'codes', operation: 'redeem' }
    expect(await valueOf('signet_store_operations_total', { ...redeem, outcome: 'won' })).toBe(2)
    expect(await valueOf('signet_store_operations_total', { ...redeem, outcome: 'replayed' })).toBe(1)
    expect(
      await valueOf('signet_store_operation_duration_seconds_count', { role: 'records', operation: 'redeem' }),
    ).toBe(3)
    expect(await valueOf('signet_audit_events_total', { event: 'token.issued' })).toBe(4)
    expect(await valueOf('process_resident_memory_bytes')).toBeGreaterThan(10_000_000)
  })

  it('has no client, person, code or path that a caller chose in any label', async () => {
    const text = await metrics()
    for (const chosen of [subject, 'nothing', publicClient.client_id, serviceClient.client_id, webClient.client_id])
      expect(text).not.toMatch(new RegExp(`="[^"]*\\b${chosen}\\b[^"]*"`))
    expect(text).not.toMatch(/client_id=|sub=/)
  })

  it('is the table of docs/operations.md', async () => {
    const exposed = [...(await metrics()).matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name)
    expect(exposed.length).toBeGreaterThan(20)
    const [, section = ''] = /^## Metrics\n([\s\S]*?)^## /m.exec(readDocument('docs/operations.md')) ?? []
    const documented = [...section.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name)
    expect(documented.toSorted()).toEqual(exposed.toSorted())
  })

  it('shows a changed configuration by a changed hash, and no secret', async () => {
    const hashOf = async (server: TokenServer): Promise<string> =>
      /signet_configuration_info\{hash="(\w{16})",issuer="[^"]+"\}/.exec(
        await (await fetch(`${server.server.admin}/metrics`)).text(),
      )?.[1] ?? ''
    await using other = await startTokenServer({ configure: (written) => ({ ...written, session_ttl_secs: 77 }) })
    expect(await hashOf(other)).toMatch(/^\w{16}$/)
    expect(await hashOf(other)).not.toBe(await hashOf(host))
  })

  it('has one hash for replicas that differ only in where they listen and log', async () => {
    const hashOf = async (more: object): Promise<string | undefined> => {
      const config = configSchema.parse({ ...testConfiguration('/data', 3000), ...more })
      const metrics = createMetrics()
      observeDeployment(metrics, () => config)
      return /signet_configuration_info\{hash="(\w{16})"\}/.exec((await metrics.expose()).text)?.[1]
    }
    const hash = await hashOf({})
    const own = { listen: { host: '127.0.0.2' }, admin: { host: '/run/2.sock' }, audit: { file: '/log/2.jsonl' } }
    expect(await hashOf(own)).toBe(hash)
    expect(await hashOf({ ...own, session_ttl_secs: 77 })).not.toBe(hash)
  })
})

describe('counting', () => {
  it('counts excess series as other', () => {
    const counts = new Counts('grant', 'type')
    for (let index = 0; index < 5000; index++) counts.of(`urn:${String(index)}`, 'x').value++
    const samples = counts.read()
    expect(samples).toHaveLength(1001)
    expect(samples.find(({ labels }) => labels['grant'] === 'other')).toEqual({
      labels: { grant: 'other', type: 'other' },
      value: 4000,
    })
  })

  it('adds the buckets of a histogram up', async () => {
    const durations = new Durations()
    for (const milliseconds of [0.5, 1, 1.1, 30, 9999]) durations.add(milliseconds)
    const metrics = createMetrics()
    const read = () => [{ labels: { of: 'a' }, durations }]
    metrics.observe({ type: 'histogram', name: 'took_seconds', help: 'x', labels: ['of'], read })
    const lines = (await metrics.expose()).text.split('\n')
    const bucket = (le: string): string | undefined => lines.find((line) => line.includes(`le="${le}"`))
    expect(durationBounds.map((bound) => Number(bucket(String(bound))?.split(' ').at(-1)))).toEqual([
      2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4,
    ])
    expect(lines).toContain('took_seconds_bucket{of="a",le="+Inf"} 5')
    expect(lines).toContain('took_seconds_count{of="a"} 5')
    expect(lines.find((line) => line.startsWith('took_seconds_sum'))).toMatch(/ 10\.0316/)
  })
})
