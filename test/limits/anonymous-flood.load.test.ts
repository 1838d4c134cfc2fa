import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { readLines } from '../../core/operate/json-records.js'
import { openCommandLine } from '../support/server/command-line.js'
import { freePort } from '../support/free-port.js'
import { startRedis } from '../support/stores/redis/server.js'
import { settleRedis } from '../support/stores/redis/settle.js'
import { testConfiguration } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { signingClient } from '../support/clients/signing-client.js'
import { createEverybodyElse } from '../support/load/everybody-else.js'
import { createHostileAddress, televisionClient } from '../support/load/hostile-address.js'

// AN09: one address does all that it may, and a tenth more, for SIGNET_FLOOD_SECONDS; everybody else goes on.

const seconds = Number(process.env['SIGNET_FLOOD_SECONDS'] ?? 5)
type Json = Record<string, unknown>

const factor = `export default {
  name: 'word',
  apiVersion: 1,
  create: () => ({ secondFactors: [{ kind: 'word', verify: async (_, { value }) => ({ ok: value === 'right' }) }] }),
}
`

const embedded = { use: 'embedded', options: { path: './data/store', max_size_mb: 64 } }

describeWith(['redis'], 'one address of nobody in particular', () => {
  const run = async (ephemeral: Json, settle?: () => Promise<void>) => {
    await using cli = await openCommandLine()
    const port = await freePort()
    const written = testConfiguration(cli.folder, port)
    await cli.write('factor.js', factor)
    await cli.write('package.json', '{ "type": "module" }')
    await cli.write(
      'signet.yaml',
      stringify({
        ...written,
        trusted_proxies: ['127.0.0.1/32'],
        plugins: [...(written['plugins'] as Json[]), { use: 'plugins/grants/device-code' }, { use: './factor.js' }],
        attestation: {},
        // As they are without configuration.
        rate_limits: {},
        storage: { records: embedded, ephemeral },
        clients: [...(written['clients'] as Json[]), signingClient, televisionClient],
      }),
    )
    await settle?.()
    const service = await cli.serve(['start', '--config', 'signet.yaml'])
    const issuer = `http://127.0.0.1:${port}`
    const auditFile = join(cli.folder, 'audit.jsonl')
    const others = createEverybodyElse(issuer)
    await others.begin()

    const quiet = await others.run(after(Math.min(seconds * 1000, 30_000)))
    const before = await stat(auditFile)
    const hostile = createHostileAddress(issuer)
    const time = after(seconds * 1000)
    const notReady: string[] = []
    const watch = async (): Promise<void> => {
      let over = false
      void time.then(() => (over = true))
      while (!over) {
        const report = await fetch(`${service.admin}/health/ready`)
        if (report.status !== 200) notReady.push(await report.text())
        await after(250)
      }
    }
    const [flooded] = await Promise.all([others.run(time), hostile.run(time), watch()])
    const grown = (await stat(auditFile)).size - before.size
    let anonymous = 0
    let caused = 0
    let first = true
    let bytes = 0
    for await (const line of readLines(auditFile)) {
      bytes += line.length + 1
      if (first || bytes <= before.size) {
        first = false
        continue
      }
      const { event, client_id } = JSON.parse(line) as { readonly event: string; readonly client_id?: string }
      if (event.endsWith('.refused') && client_id === undefined) anonymous += line.length + 1
      if (event.endsWith('.refused') || event === 'device.started') caused += line.length + 1
    }
    console.log(
      `${String(ephemeral['use'])}, ${String(seconds)} s, ${String(hostile.sent())} hostile requests; ` +
        `audit ${String(grown)} bytes more, ${String(anonymous)} of them refusals of nobody; p50/p99 ms quiet -> flooded`,
      Object.fromEntries(
        [...flooded].map(([kind, { p50, p99, count }]) => {
          const was = quiet.get(kind)
          return [kind, `${was?.p50}/${was?.p99} -> ${p50}/${p99} (${count})`]
        }),
      ),
      Object.fromEntries(hostile.answers),
    )
    expect(others.failures).toEqual([])
    expect(notReady).toEqual([])
    expect([...hostile.answers.keys()].filter((answer) => /( 5\d\d|no answer)$/.test(answer))).toEqual([])
    // Of all lines, those that the flood alone can cause: 5 MB in ten minutes, of which nobody's refusals are 2.
    expect(caused).toBeLessThan((5e6 / 600) * seconds)
    expect(anonymous).toBeLessThan((2e6 / 600) * seconds)
  }

  const timeout = 120_000 + seconds * 2000

  it('AN09 the embedded store of 64 MB: everyone else is served', { timeout }, () => run(embedded))

  it('AN09 a Redis of 256 MB: everyone else is served', { timeout }, async () => {
    await using redis = await startRedis({ args: ['--maxmemory', '256mb'] })
    const options = { uri: redis.uri(), key_prefix: 'signet:' }
    await run({ use: 'redis', options }, () => settleRedis(options))
  })
})
