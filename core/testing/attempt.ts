import { withDeadline } from '../deadline.js'
import type { Client } from '../oauth/clients/client.js'
import { OAuthError } from '../oauth/errors.js'
import type { GrantDecision, GrantHandler, GrantRequest } from '../oauth/grants/grant.js'
import { runGrant } from '../oauth/grants/run-grant.js'
import { protocolClaims } from '../tokens/claims.js'
import { describeFailure } from '../plugin-failure.js'
import { Unavailable } from '../unavailable.js'
import type { Rule } from './report.js'

export type TrialRequest = Omit<GrantRequest, 'input' | 'signal'>

/** The result of one request, and its faults. */
export interface Outcome {
  readonly decision?: GrantDecision
  readonly error?: unknown
  readonly faults: readonly { readonly rule: Rule; readonly detail: string }[]
}

class Late extends Error {}

const findWidening = (
  raw: GrantDecision,
  { client, scope, resource, audience }: TrialRequest,
  defaultAudience: string,
) => {
  const bound = scope.length > 0 ? scope : client.scope
  const scopes = raw.scope.filter((name) => !bound.includes(name) || !client.scope.includes(name))
  const targets = resource.length > 0 ? [...resource, ...audience] : [...client.allowed_audiences, defaultAudience]
  // What a record or token limits was the client's when it was granted.
  const recorded = raw.grant !== undefined || raw.grantId !== undefined
  const others = recorded && resource.length === 0 ? [] : (raw.audience ?? []).filter((name) => !targets.includes(name))
  const claims = Object.keys(raw.claims ?? {}).filter((name) => protocolClaims.has(name))
  return [
    ...scopes.map((name) => ({ rule: 'scope', detail: `gives the scope ${name}` }) as const),
    ...others.map((name) => ({ rule: 'audience', detail: `names the audience ${name}` }) as const),
    ...claims.map((name) => ({ rule: 'claims', detail: `sets the claim ${name}` }) as const),
  ]
}

/** Returns the other client that a decision is for, if any. */
const findImpersonation = (raw: GrantDecision, client: Client, others: ReadonlySet<string>) => {
  const { subject, grant } = raw
  const faults: { rule: 'client'; detail: string }[] = []
  if (subject !== client.client_id && others.has(subject))
    faults.push({ rule: 'client', detail: `takes the client ${subject} for the subject` })
  if (grant !== undefined && grant.clientId !== client.client_id)
    faults.push({ rule: 'client', detail: 'continues the grant of another client' })
  return faults
}

const placed = async (error: Error): Promise<string> => (await describeFailure(error)).message

export interface Setting {
  readonly defaultAudience: string
  readonly deadlineMs: number
  /** Ids of all participating clients. */
  readonly clients: ReadonlySet<string>
}

/** Makes one request as the core does, and examines the plugin's answer before the core narrows it. */
export const attempt = async (handler: GrantHandler, asked: TrialRequest, setting: Setting): Promise<Outcome> => {
  let raw: unknown
  const watched: GrantHandler = {
    ...handler,
    handle: async (request) => (raw = await handler.handle(request)),
  }
  try {
    const decision = await withDeadline(
      setting.deadlineMs,
      (signal) => runGrant(watched, { ...asked, signal }),
      () => new Late(),
    )
    const given = raw as GrantDecision
    const widened = findWidening(given, asked, setting.defaultAudience)
    return { decision, faults: [...widened, ...findImpersonation(given, asked.client, setting.clients)] }
  } catch (error) {
    if (error instanceof Late) return { error, faults: [{ rule: 'hangs', detail: 'does not end at the deadline' }] }
    if (error instanceof OAuthError) {
      // The plugin decided, but the core found nothing in the decision that was requested.
      const rule =
        raw === undefined ? [] : [{ rule: 'audience', detail: 'ignores the resource that was asked for' } as const]
      const own = [...asked.params].filter(([name]) => name !== 'grant_type')
      const sent = own.map(([, value]) => value).filter((value) => value.length >= 8)
      const echo = sent.some((value) => error.description.includes(value))
      return { error, faults: echo ? [...rule, { rule: 'echo', detail: 'tells the input back' }] : rule }
    }
    if (error instanceof Unavailable) return { error, faults: [] }
    const { name, message, cause } = error as Error
    // The plugin's own deadline, which the product answers as an outage.
    if (raw === undefined && (name === 'AbortError' || name === 'TimeoutError')) return { error, faults: [] }
    if (raw === undefined && cause !== undefined) {
      const detail = cause instanceof Error ? `throws ${cause.name}: ${await placed(cause)}` : `throws ${typeof cause}`
      return { error, faults: [{ rule: 'throws', detail }] }
    }
    const rule = message.includes('another client') ? 'client' : 'junk'
    return { error, faults: [{ rule, detail: message }] }
  }
}
