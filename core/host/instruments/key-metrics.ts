import type { Clock } from '../../clock.js'
import type { KeyReport, RingReport } from '../../keys/key-ring.js'
import type { Sample } from '../../observe/counts.js'
import type { Metrics, Observation } from '../../observe/metrics.js'

const day = 86_400_000

export const gauge = (
  name: string,
  help: string,
  labels: readonly string[],
  read: Observation['read'],
): Observation => ({
  type: 'gauge',
  name,
  help,
  labels,
  read,
})

const counter: typeof gauge = (...args) => ({ ...gauge(...args), type: 'counter' })

/** Returns one sample for each of these words; the one that is true has the value 1. */
const oneOf = <W extends string>(label: string, words: readonly W[], now: W, labels: Sample['labels']): Sample[] =>
  words.map((word) => ({ labels: { ...labels, [label]: word }, value: word === now ? 1 : 0 }))

const states = ['next', 'active', 'retired', 'gone'] as const
const trusts = ['proved', 'unopened', 'unproved', 'quarantined', 'refused'] as const
const circuits = ['closed', 'half_open', 'open'] as const

/** Returns when the clock changes the state of the key next. */
const changeOf = ({ state, notBefore, notAfter, goneAt }: KeyReport): number =>
  ({ next: notBefore, active: notAfter, retired: goneAt, gone: Infinity })[state]

/** Reports the keys and signers of the serving ring. */
export const observeKeys = (metrics: Pick<Metrics, 'observe'>, report: () => RingReport, clock: Clock): void => {
  const key = ['signer', 'kid']
  const ofKeys = (read: (key: KeyReport, labels: Sample['labels']) => readonly Sample[]) => () =>
    report().keys.flatMap((one) => read(one, { signer: one.signer, kid: one.kid }))
  const ofSigners = (read: (signer: RingReport['signers'][number], labels: Sample['labels']) => Sample[]) => () =>
    report().signers.flatMap((one) => read(one, { signer: one.name }))
  const finite = (labels: Sample['labels'], value: number): Sample[] =>
    Number.isFinite(value) ? [{ labels, value }] : []

  const observations: readonly Observation[] = [
    counter(
      'signet_signer_calls_total',
      'Attempts to sign, by outcome.',
      [...key, 'outcome'],
      ofKeys(({ calls }, labels) =>
        Object.entries(calls).map(([outcome, value]) => ({ labels: { ...labels, outcome }, value })),
      ),
    ),
    counter(
      'signet_key_quarantines_total',
      'Signatures that failed verification with the published key.',
      key,
      ofKeys(({ quarantines: value }, labels) => [{ labels, value }]),
    ),
    gauge(
      'signet_signer_latency_seconds',
      'Latency of the last 512 signatures and probes.',
      [...key, 'quantile'],
      ofKeys(({ latency }, labels) =>
        latency === undefined
          ? []
          : [
              { labels: { ...labels, quantile: '0.5' }, value: latency.p50 / 1000 },
              { labels: { ...labels, quantile: '0.99' }, value: latency.p99 / 1000 },
            ],
      ),
    ),
    gauge(
      'signet_key_state',
      '1 for the current state of the key.',
      [...key, 'state'],
      ofKeys(({ state }, labels) => oneOf('state', states, state, labels)),
    ),
    gauge(
      'signet_key_trust',
      '1 for the result of the last probe of the key: only a proved key signs.',
      [...key, 'trust'],
      ofKeys(({ trust }, labels) => oneOf('trust', trusts, trust, labels)),
    ),
    gauge(
      'signet_key_age_days',
      'Days since not_before, for keys that have one.',
      key,
      ofKeys(({ notBefore }, labels) => finite(labels, Math.max(0, clock() - notBefore) / day)),
    ),
    gauge(
      'signet_key_days_to_change',
      'Days until the state of the key changes, if it is due to change.',
      key,
      ofKeys((one, labels) => finite(labels, (changeOf(one) - clock()) / day)),
    ),
    gauge(
      'signet_signer_circuit',
      '1 for the state of the circuit: the signer gets requests only while it is closed.',
      ['signer', 'state'],
      ofSigners(({ circuit }, labels) => oneOf('state', circuits, circuit, labels)),
    ),
    gauge(
      'signet_signer_waiting',
      'Signatures waiting for the signer.',
      ['signer'],
      ofSigners(({ waiting: value }, labels) => [{ labels, value }]),
    ),
    gauge(
      'signet_signer_running',
      'Signatures in progress at the signer.',
      ['signer'],
      ofSigners(({ running: value }, labels) => [{ labels, value }]),
    ),
  ]
  for (const observation of observations) metrics.observe(observation)
}
