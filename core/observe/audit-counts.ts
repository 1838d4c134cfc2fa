import type { AuditEvent } from './audit.js'
import { Counts } from './counts.js'
import type { Metrics } from './metrics.js'

const maxReasons = 200

/** A constant sentence: no digits, nothing that could be an id. A plugin's own reason may be anything. */
const sentence = /^[A-Za-z][A-Za-z ,;:.'()-]{0,99}$/

/**
 * Counts the events of the audit log, which sees everything that matters. Returns a function to be called with each
 * recorded event.
 */
export const observeAudit = (metrics: Pick<Metrics, 'observe'>): ((event: AuditEvent) => void) => {
  const events = new Counts('event')
  const tokens = new Counts('grant', 'type')
  const refusals = new Counts('event', 'error', 'reason')
  const reuse = new Counts('kind')
  const reasons = new Set<string>()
  const counter = (name: string, help: string, labels: readonly string[], { read }: Counts): void =>
    metrics.observe({ type: 'counter', name, help, labels, read })

  counter('signet_audit_events_total', 'Events of the audit log.', ['event'], events)
  counter('signet_tokens_issued_total', 'Issued tokens.', ['grant', 'type'], tokens)
  counter('signet_refusals_total', 'Refused requests.', ['event', 'error', 'reason'], refusals)
  counter('signet_reuse_total', 'Codes and tokens presented again, each of which ended its grant.', ['kind'], reuse)

  const boundReason = (reason: unknown): string => {
    if (typeof reason !== 'string' || !sentence.test(reason)) return 'other'
    if (!reasons.has(reason) && reasons.size >= maxReasons) return 'other'
    reasons.add(reason)
    return reason
  }

  const issued = (event: AuditEvent): void => {
    const grant = text(event['grant_type'])
    tokens.of(grant, 'access_token').value++
    if (event['id_token'] === true) tokens.of(grant, 'id_token').value++
    if (event['refresh_token'] === true) tokens.of(grant, 'refresh_token').value++
  }

  /** One line may stand for many. */
  const refused = (event: AuditEvent): void => {
    const { event: name, count } = event
    const times = typeof count === 'number' ? count : 1
    events.of(name).value += times
    refusals.of(name, text(event['error']), boundReason(event['reason'])).value += times
  }

  return (event) => {
    const { event: name } = event
    if (name.endsWith('.refused') && name !== 'signer.refused') return refused(event)
    events.of(name).value++
    if (name === 'token.issued') issued(event)
    else if (name === 'attestation.issued') tokens.of(text(event['step']), 'attestation').value++
    else if (name.endsWith('.reused')) reuse.of(name.slice(0, -'.reused'.length)).value++
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : 'none')
