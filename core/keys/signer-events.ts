import type { AuditEvent, AuditLog } from '../observe/audit.js'
import type { Log } from '../observe/log.js'
import { Unavailable } from '../unavailable.js'
import type { CircuitState } from './circuit.js'
import { KeyRefused, type KeyState, type SigningRequest } from './ports.js'
import type { KeyStatus, RingKey } from './ring-key.js'
import { BadSignature } from './signer-supervisor.js'

/** Reports events of keys and signers to the operator's log and the audit log. */
export interface SignerEvents {
  /** `state` is the state by the clock. A next key is reported before it becomes active. */
  trustChanged(key: RingKey, before: KeyStatus, state: KeyState | undefined): void
  /** A probe got no answer, for the first time in a row. */
  unanswered(key: RingKey, state: KeyState | undefined): void
  circuitChanged(signer: string, state: CircuitState): void
  failedOver(order: SigningRequest, from: RingKey, to: RingKey, cause: unknown): void
}

/**
 * Messages of libraries may quote anything, so only our own and those of signer modules, written for operators, are
 * shown.
 */
export const explainFailure = (error: unknown): string => {
  if (error instanceof Unavailable || error instanceof KeyRefused || error instanceof BadSignature) return error.message
  return error instanceof Error ? error.name : 'unknown error'
}

/** Not awaited, because these events must not delay a signature. A failure of the audit log is logged. */
export const createSignerEvents = (log?: Log, audit?: AuditLog): SignerEvents => {
  const open = new Set<string>()

  const record = (event: AuditEvent): void => {
    audit?.record(event).catch((cause: unknown) => {
      log?.error('An event of a signer could not be written to the audit log', { event: event.event }, cause)
    })
  }

  return {
    trustChanged({ kid, signer, trust, reason }, before, state) {
      const fields = { kid, signer, state, reason }
      if (trust === 'proved') {
        log?.info('A key signs again', { ...fields, before })
        record({ event: 'signer.recovered', kid, signer, before })
      } else if (trust === 'quarantined') {
        log?.error('A key is quarantined: its signature does not verify', fields)
        record({ event: 'signer.quarantined', ...fields })
      } else if (trust === 'refused') {
        log?.error('A signer refuses a key; an operator has to act', fields)
        record({ event: 'signer.refused', ...fields })
      }
    },
    unanswered({ kid, signer, reason }, state) {
      log?.warn('A key did not sign its probe', { kid, signer, state, reason })
    },
    circuitChanged(signer, state) {
      if (state === 'half_open' || (state === 'open') === open.has(signer)) return
      if (state === 'open') {
        open.add(signer)
        log?.error('A signer is not responding; no requests are sent until a probe succeeds', { signer })
      } else {
        open.delete(signer)
        log?.info('A signer is responding again', { signer })
      }
      record({ event: 'signer.circuit', signer, state })
    },
    failedOver({ purpose, alg, clientId }, from, to, cause) {
      const reason = explainFailure(cause)
      const keys = { from_kid: from.kid, from_signer: from.signer, kid: to.kid, signer: to.signer }
      log?.debug('Another key signed', { purpose, alg, ...keys, reason })
      record({ event: 'signer.failover', client_id: clientId, purpose, alg, ...keys, reason })
    },
  }
}
