import { X509Certificate } from 'node:crypto'
import { certificatesOf } from '../checks/config-changes.js'
import type { SharedFigures } from '../collections/shared-figures.js'
import type { Config } from '../../config/schema.js'
import type { KeyReport, SignerReport } from '../keys/ring-report.js'
import type { ReadinessReport } from '../observe/health.js'
import type { SlotForecast } from './key-forecast.js'

/** Something that an operator has to look at. `name` and `detail` are data; the page has the sentence. */
export interface Attention {
  readonly kind:
    | 'component_down'
    | 'reload_refused'
    | 'slot_overdue'
    | 'key_untrusted'
    | 'circuit_open'
    | 'key_ends'
    | 'certificate_ends'
    | 'replica_differs'
    | 'share_full'
    | 'approvals_wait'
    | 'enrolments_wait'
  readonly severity: 'bad' | 'warn'
  readonly name: string
  readonly detail?: string | undefined
  /** The time at which it happens, in milliseconds since the epoch. */
  readonly at?: number
}

export interface AttentionInput {
  readonly config: Config
  readonly readiness: ReadinessReport
  readonly refusedReload: readonly { readonly path: string; readonly message: string }[]
  readonly slots: readonly SlotForecast[]
  readonly keys: readonly KeyReport[]
  readonly signers: readonly SignerReport[]
  readonly figures: Pick<SharedFigures, 'processes'>
  readonly shares: Readonly<Record<string, { readonly bytes: number; readonly limit: number }>>
  readonly waitingApprovals: number
  readonly waitingEnrolments: number
  readonly now: number
}

const soonMs = 30 * 86_400_000
/** The fraction of a share that is worth a look. */
const almostFull = 0.8

const componentsDown = ({ readiness }: AttentionInput): readonly Attention[] =>
  Object.entries(readiness.components)
    .filter(([, { status }]) => status === 'down')
    .map(([name, { message }]) => ({ kind: 'component_down', severity: 'bad', name, detail: message }))

/** A key that ends soon, and that no other key of its algorithm follows. */
const keysEnding = ({ keys, now }: AttentionInput): readonly Attention[] =>
  keys
    .filter(({ state, notAfter }) => state === 'active' && notAfter - now < soonMs)
    .filter(
      (key) =>
        !keys.some(
          (other) =>
            other !== key &&
            other.alg === key.alg &&
            other.notAfter > key.notAfter &&
            key.purposes.every((purpose) => other.purposes.includes(purpose)),
        ),
    )
    .map(({ kid, notAfter }) => ({ kind: 'key_ends', severity: 'warn', name: kid, at: notAfter }))

const certificatesEnding = ({ config, now }: AttentionInput): readonly Attention[] =>
  Object.entries(certificatesOf(config)).flatMap(([name, tls]): readonly Attention[] => {
    if (tls === undefined) return []
    const at = Date.parse(new X509Certificate(tls.cert).validTo)
    return at - now < soonMs ? [{ kind: 'certificate_ends', severity: at < now ? 'bad' : 'warn', name, at }] : []
  })

const replicasDiffering = ({ figures: { processes } }: AttentionInput): readonly Attention[] => {
  const kinds = new Set(processes.map(({ version, configuration }) => `${version} ${configuration}`))
  if (kinds.size <= 1) return []
  const hosts = [...new Set(processes.map(({ host }) => host))].join(', ')
  return [{ kind: 'replica_differs', severity: 'warn', name: String(kinds.size), detail: hosts }]
}

/** Finds what needs attention, the most serious first. */
export const findAttention = (input: AttentionInput): readonly Attention[] => {
  const { refusedReload, slots, keys, signers, shares, waitingApprovals, waitingEnrolments } = input
  const [problem] = refusedReload
  const found: readonly Attention[] = [
    ...componentsDown(input),
    ...slots.flatMap(({ slot, overdue }): readonly Attention[] =>
      overdue === undefined
        ? []
        : [{ kind: 'slot_overdue', severity: 'bad', name: slot.slot, detail: overdue.reason, at: overdue.since }],
    ),
    ...keys
      .filter(({ trust, state }) => trust !== 'proved' && state === 'active')
      .map(({ kid, reason }): Attention => ({ kind: 'key_untrusted', severity: 'bad', name: kid, detail: reason })),
    ...signers
      .filter(({ circuit }) => circuit === 'open')
      .map(({ name }): Attention => ({ kind: 'circuit_open', severity: 'bad', name })),
    ...(problem === undefined
      ? []
      : [{ kind: 'reload_refused', severity: 'warn', name: problem.path, detail: problem.message } as const]),
    ...(waitingApprovals > 0
      ? [{ kind: 'approvals_wait', severity: 'warn', name: String(waitingApprovals) } as const]
      : []),
    ...(waitingEnrolments > 0
      ? [{ kind: 'enrolments_wait', severity: 'warn', name: String(waitingEnrolments) } as const]
      : []),
    ...keysEnding(input),
    ...certificatesEnding(input),
    ...replicasDiffering(input),
    ...Object.entries(shares)
      .filter(([, { bytes, limit }]) => bytes >= almostFull * limit)
      .map(([name, { bytes, limit }]): Attention => {
        return { kind: 'share_full', severity: 'warn', name, detail: `${String(Math.round((100 * bytes) / limit))} %` }
      }),
  ]
  return found.toSorted((one, other) => Number(one.severity === 'warn') - Number(other.severity === 'warn'))
}
