import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { AuditChain } from '../core/observe/audit-chain.js'
import { createAuditReader } from '../core/observe/audit-search/audit-reader.js'
import { extendIndexes } from '../core/observe/audit-search/extend-indexes.js'
import { searchLog } from '../core/observe/audit-search/search.js'
import type { AuditFilter } from '../core/observe/audit-search/terms.js'

/** Measures searches of an audit log of tokens, refusals and some changes, with its index and without. */
const { values } = parseArgs({
  options: {
    lines: { type: 'string', default: '1000000' },
    samples: { type: 'string', default: '20' },
    path: { type: 'string', default: mkdtempSync(join(tmpdir(), 'signet-audit-search-')) },
  },
})
const [count, samples] = [Number(values.lines), Number(values.samples)]
const path = join(values.path, 'audit.jsonl')
const id = (text: string): string => createHash('sha256').update(text).digest('base64url')
const began = Date.parse('2026-11-01T00:00:00Z')
const timeAt = (index: number): string => new Date(began + index * 20).toISOString()

const eventAt = (index: number): object => {
  const token = Math.floor(index / 2)
  const common = { request_id: id(`request ${String(token)}`).slice(0, 22), client_id: `client-${String(token % 200)}` }
  if (index % 50_000 === 49_999)
    return {
      ...{ event: 'administration', action: 'client.update', client_id: `client-${String(index % 7)}` },
      ...{ before: { client_name: 'Old' }, after: { client_name: 'New' } },
      by: { via: 'api', operator: `operator-${String(index % 3)}`, proof: 'token', credential: 'h0Ua3kLr9QxA' },
    }
  if (index % 97 === 0)
    return { event: 'client.refused', error: 'invalid_client', reason: 'wrong secret', count: 3, address: '192.0.2.7' }
  const claims = { ...common, sub: `person-${String(token % 50_000)}`, jti: id(`token ${String(token)}`).slice(0, 22) }
  if (index % 2 === 0)
    return {
      ...{ event: 'token.signed', ...claims },
      signatures: [
        { kid: 'es-2026-10', alg: 'ES256', typ: 'at+jwt', digest: id(`digest ${String(token)}`), signer: 'hsm' },
        { kid: 'rs-2026-10', alg: 'RS256', typ: 'JWT', digest: id(`other ${String(token)}`), signer: 'hsm' },
      ],
    }
  return {
    ...{ event: 'token.issued', ...claims, grant_type: 'authorization_code', grant_id: id(`grant ${String(token)}`) },
    ...{ client_auth_method: 'private_key_jwt', aud: 'https://api.bank.example', scope: 'openid profile accounts' },
    ...{ exp: 1_795_000_000, id_token: true, refresh_token: true },
  }
}

const write = async (): Promise<void> => {
  await using file = await open(path, 'w')
  const chain = new AuditChain(false)
  for (let from = 0; from < count; from += 1000) {
    const members = Array.from({ length: Math.min(1000, count - from) }, (_, place) => {
      const index = from + place
      const start = `"time":"${timeAt(index)}","pid":7,"issuer":"https://id.bank.example",`
      return `${start}${JSON.stringify(eventAt(index)).slice(1)}`
    })
    await file.write(`${chain.link(members).join('\n')}\n`)
  }
}

const rows: (readonly [string, number[]])[] = []
const measure = (name: string, filter: (sample: number) => AuditFilter, times = samples): void => {
  const taken: number[] = []
  for (let sample = 0; sample < times; sample++) {
    const start = performance.now()
    searchLog({ path, filter: filter(sample), limit: 50, budgetMs: 60_000 })
    taken.push(performance.now() - start)
  }
  rows.push([name, taken])
}

const token = (sample: number) => Math.floor(((sample + 0.5) / samples) * (count / 2))
const cases = (mark: string, times?: number): void => {
  measure(`${mark}jti`, (sample) => ({ jti: id(`token ${String(token(sample))}`).slice(0, 22) }), times)
  measure(`${mark}jti that does not exist`, (sample) => ({ jti: id(`none ${String(sample)}`) }), times)
  measure(`${mark}sub`, (sample) => ({ sub: `person-${String((sample * 2503) % 50_000)}` }), times)
  measure(
    `${mark}client and event`,
    (sample) => ({ client_id: `client-${String(sample)}`, events: ['token.issued'] }),
    times,
  )
  measure(`${mark}client that does not exist`, (sample) => ({ client_id: `none-${String(sample)}` }), times)
  measure(`${mark}operator`, (sample) => ({ operator: `operator-${String(sample % 3)}` }), times)
  measure(
    `${mark}client and event that never meet`,
    () => ({ client_id: 'client-9', events: ['client.refused'] }),
    times,
  )
  measure(`${mark}changes of a client`, () => ({ object: 'client:client-3' }), times)
  measure(`${mark}an hour of the oldest`, () => ({ since: began, until: began + 3_600_000 }), times)
}

try {
  await write()
  cases('no index: ', 2)
  const start = performance.now()
  let longest = 0
  let last = start
  const steps = extendIndexes(path)
  while (steps.next().done === false) {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }
  const built = performance.now() - start
  cases('')
  await using reader = createAuditReader(path)
  let lag = 0
  let at = performance.now()
  const watch = setInterval(() => {
    const now = performance.now()
    lag = Math.max(lag, now - at - 1)
    at = now
  }, 1)
  for (let sample = 0; sample < samples; sample++)
    await reader.search({
      filter: { jti: id(`token ${String(token(sample))}`).slice(0, 22) },
      limit: 50,
      budgetMs: 1000,
    })
  clearInterval(watch)
  const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0)
  console.log(
    `${String(count)} lines, ${megabytes(statSync(path).size)} MB; index made in ${built.toFixed(0)} ms, longest step ${longest.toFixed(1)} ms; longest turn of the event loop beside a thread that searches ${lag.toFixed(1)} ms`,
  )
  const table = new Table({ head: ['search', 'median ms', 'worst ms', 'worst ms per million lines'] })
  for (const [name, taken] of rows) {
    const sorted = taken.toSorted((one, other) => one - other)
    const [median = 0, worst = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)]
    table.push([name, median.toFixed(1), worst.toFixed(1), ((worst / count) * 1e6).toFixed(1)])
  }
  console.log(table.toString())
} finally {
  rmSync(values.path, { recursive: true, force: true })
}
