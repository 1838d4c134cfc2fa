import { z } from 'zod'
import { forecastSlots, readKnownKeys } from '../../administration/key-forecast.js'
import { rotateSlot } from '../../administration/key-slots.js'
import { isoTime } from '../../clock.js'
import type { KeyReport } from '../../keys/ring-report.js'
import { defineApiRoute, type ApiParts } from '../api-route.js'
import { Problem, unlessRefused } from '../problem.js'

const time = z.iso.datetime()

const latency = z.object({ p50: z.number(), p99: z.number() }).describe('Milliseconds.')

const shownKey = z.object({
  ...{ kid: z.string(), alg: z.string(), signer: z.string(), purposes: z.array(z.string()) },
  state: z.enum(['next', 'active', 'retired', 'gone']),
  trust: z.string().describe('Only a `proved` key signs.'),
  published: z.boolean(),
  reason: z.string().optional(),
  ...{ not_before: time.optional(), not_after: time.optional(), gone_at: time.optional() },
  latency: latency.optional(),
})

const finite = (at: number): string | undefined => (Number.isFinite(at) ? isoTime(at) : undefined)

const showKey = (key: KeyReport): z.output<typeof shownKey> => {
  const { kid, alg, signer, purposes, state, trust, published, reason, notBefore, notAfter, goneAt } = key
  return {
    ...{ kid, alg, signer, purposes: [...purposes], state, trust, published, reason, latency: key.latency },
    ...{ not_before: finite(notBefore), not_after: finite(notAfter), gone_at: finite(goneAt) },
  }
}

const shownSlot = z.object({
  ...{ slot: z.string(), alg: z.string(), signer: z.string(), released: z.boolean() },
  waits: z.string().optional().describe('Why the next key is not ready.'),
  overdue: z.object({ since: time, reason: z.string() }).optional(),
  keys: z.array(
    z.object({
      ...{ kid: z.string(), alg: z.string(), signer: z.string(), step: z.string() },
      expected: z.boolean().describe('The key does not exist yet.'),
      ...{ made_at: time.optional(), not_before: time.optional(), not_after: time.optional() },
    }),
  ),
})

const defaultMonths = 12

const readSlots = async (parts: ApiParts, months: number): Promise<z.output<typeof shownSlot>[]> => {
  const { config, checked, clock } = parts
  const known = await readKnownKeys(parts.stores)
  const { slots } = forecastSlots(config, known, { modules: checked.modules, months }, clock())
  return slots.map(({ slot, record, waits, overdue, keys }) => ({
    ...{ slot: slot.slot, alg: slot.alg, signer: slot.signer, released: record.released === true, waits },
    overdue: overdue && { since: isoTime(overdue.since), reason: overdue.reason },
    keys: keys.map(({ kid, alg, signer, step, expected, made_at, not_before, not_after }) => ({
      ...{ kid, alg, signer, step, expected },
      made_at: isoTime(made_at),
      not_before: not_before === undefined ? undefined : isoTime(not_before),
      not_after: not_after === undefined ? undefined : isoTime(not_after),
    })),
  }))
}

const shownSigner = z.object({
  name: z.string(),
  use: z.string().describe('The module.'),
  circuit: z.enum(['closed', 'half_open', 'open']).optional().describe('Absent for signers in the process.'),
  ...{ waiting: z.int().optional(), running: z.int().optional() },
  keys: z.array(z.string()),
})

const tag = 'Keys'

export const keyRoutes = [
  defineApiRoute(
    {
      ...{ path: '/keys', method: 'GET', permission: 'keys.read', operation: 'listKeys', tag },
      summary: 'Lists the keys of the service with their states and times.',
      output: z.object({ items: z.array(shownKey) }),
    },
    ({ parts }) => Promise.resolve({ data: { items: parts.running.keys().keys.map(showKey) } }),
  ),
  defineApiRoute(
    {
      ...{ path: '/slots', method: 'GET', permission: 'keys.read', operation: 'listSlots', tag },
      summary: 'Lists the keys that rotate themselves, and those that they will make in the coming months.',
      query: z.strictObject({ months: z.coerce.number().int().min(1).max(36).default(defaultMonths) }),
      output: z.object({ items: z.array(shownSlot) }),
    },
    async ({ parts, query }) => ({ data: { items: await readSlots(parts, query.months) } }),
  ),
  defineApiRoute(
    {
      ...{ path: '/slots/{slot}/rotate', method: 'POST', permission: 'keys.write', operation: 'rotateSlot', tag },
      summary:
        'Asks for the next key of a slot now. With `compromised` that key is withdrawn, with all that it signed.',
      body: z.strictObject({ compromised: z.string().max(512).optional().describe('The `kid` of the key.') }),
      output: z.object({ slot: z.string() }),
      status: 202,
    },
    async ({ parts, by, body, path }) => ({
      data: unlessRefused(await rotateSlot(parts, by, { slot: path('slot'), compromised: body.compromised })),
    }),
  ),
  defineApiRoute(
    {
      ...{ path: '/signers', method: 'GET', permission: 'keys.read', operation: 'listSigners', tag },
      summary: 'Lists the signers with their circuits and queues.',
      output: z.object({ items: z.array(shownSigner) }),
    },
    ({ parts }) => {
      const { keys, signers } = parts.running.keys()
      const items = Object.entries(parts.config.signers).map(([name, { use }]) => {
        const { circuit, waiting, running } = signers.find((signer) => signer.name === name) ?? {}
        const own = keys.filter(({ signer }) => signer === name).map(({ kid }) => kid)
        return { name, use, circuit, waiting, running, keys: own }
      })
      return Promise.resolve({ data: { items } })
    },
  ),
  defineApiRoute(
    {
      ...{ path: '/signers/{name}/prove', method: 'POST', permission: 'keys.write', operation: 'proveSigner', tag },
      summary: 'Signs a probe with every key of a signer now, and verifies it with the published key.',
      output: z.object({
        items: z.array(
          z.object({
            kid: z.string(),
            outcome: z.enum(['passed', 'failed', 'refused', 'unavailable']),
            milliseconds: z.number().optional(),
          }),
        ),
      }),
    },
    async ({ parts, path, request }) => {
      const name = path('name')
      if (!Object.hasOwn(parts.config.signers, name)) throw new Problem(404, 'unknown', 'There is no such signer.')
      const probes = await parts.running.prove(request.signal, name)
      return {
        data: { items: probes.map(({ kid, outcome, latency: milliseconds }) => ({ kid, outcome, milliseconds })) },
      }
    },
  ),
]
