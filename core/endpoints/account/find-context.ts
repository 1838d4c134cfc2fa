import type { FoundRecovery, RecoverySessions } from '../../interaction/recovery/recovery-sessions.js'
import type { Flow } from '../authorization-flow/flow.js'
import type { SignInMethods } from '../authorization-flow/options.js'
import type { EndpointRequest } from '../message.js'
import type { AccountContext } from './section.js'

/** The holder of a recovery link, in the form of a person who has proved nothing. */
const personOf = ({ cookie, recovery }: FoundRecovery): Pick<AccountContext['person'], 'cookie' | 'session'> => {
  const { subject, sid, authTime, expiresAt, username } = recovery
  const session = { subject, sid, authTime, expiresAt, amr: [], interactionId: '' }
  return { cookie, session: { ...session, ...(username !== undefined && { username }) } }
}

/**
 * Whose page this browser sees: that of the holder of a recovery link, until it ends or someone signs in; otherwise
 * that of the signed-in person. Throws `Unavailable`.
 */
export const createFindContext =
  (
    { accounts }: Pick<SignInMethods, 'accounts'>,
    { cookies, signedIn }: Pick<Flow, 'cookies' | 'signedIn'>,
    recoveries: Pick<RecoverySessions, 'find'>,
  ) =>
  async (http: EndpointRequest): Promise<AccountContext | undefined> => {
    const recovery = await recoveries.find(http.cookie(cookies.recovery))
    const account = recovery && (await accounts.find(recovery.recovery.subject, http.signal))
    if (recovery && account) return { http, person: { ...personOf(recovery), account }, recovery }
    const person = await signedIn(http)
    return person && { http, person }
  }
