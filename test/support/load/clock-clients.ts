import { expect } from 'vitest'
import { acquireEnvironment } from '../../../stores/embedded/environment.js'
import { expiredBefore } from '../../../stores/embedded/key.js'
import { refresh } from '../../../stores/embedded/tables.js'
import { basic } from '../clients/clients.js'
import { verifier } from '../forge/mint.js'
import { createClient, type Answer } from '../server/processes.js'
import { deviceGrant, personAt, tvClient } from '../clients/device.js'
import { createProver } from '../clients/dpop-proof.js'
import { person, publicClient, redirectUri, serviceClient, webClient } from '../server/server.js'
import { newAssertion, signedForm } from '../clients/signing-client.js'
import { UserAgent } from '../clients/user-agent.js'

const machineForm = { grant_type: 'client_credentials', scope: 'read' }

/** Clients whose clock is their own, of an issuer that is more than one process. */
export const createClockClients = (issuer: string) => {
  const client = createClient()
  const prover = createProver()
  let ahead = 0
  let stopped: number | undefined
  const now = () => stopped ?? Date.now() + ahead

  return {
    now,
    close: () => client.close(),
    /** Seconds that their clock is ahead of the machine's. */
    set: (seconds: number) => void (ahead = seconds * 1000),
    /** Their clock stands still: milliseconds since the epoch. */
    stop: (at: number) => void (stopped = at),

    assertion: (overrides: Readonly<Record<string, unknown>> = {}): string => newAssertion(issuer, now(), overrides),

    proof: (nonce: string, ageSeconds = 0): string =>
      prover.proof(`${issuer}/token`, nonce, { claims: { iat: Math.floor(now() / 1000) - ageSeconds } }),

    /** Those of the process that listens there. */
    at: (origin: string) => {
      const token = (form: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) =>
        client.post(`${origin}/token`, form, headers)
      const machine = (headers: Readonly<Record<string, string>> = {}) =>
        token(machineForm, { authorization: basic(serviceClient), ...headers })
      return {
        machine,
        present: (assertion: string) => token(signedForm(assertion)),
        prove: (dpop: string) => machine({ dpop }),
        nonce: async (): Promise<string> =>
          String((await machine({ dpop: prover.proof(`${issuer}/token`, undefined) })).headers['dpop-nonce']),
        redeem: (code: string) =>
          token(
            { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
            { authorization: basic(webClient) },
          ),
        refresh: (refresh_token: string) =>
          token({ grant_type: 'refresh_token', refresh_token, client_id: publicClient.client_id }),
        userinfo: (access: unknown) =>
          client.post(`${origin}/userinfo`, {}, { authorization: `Bearer ${String(access)}` }),
        revoke: (access: unknown) =>
          client.post(`${origin}/revoke`, { token: String(access) }, { authorization: basic(webClient) }),
        /** A device code that a person has approved, at the issuer's own pages. */
        approved: async (): Promise<string> => {
          const started = await client.post(`${origin}/device_authorization`, {
            client_id: tvClient.client_id,
            scope: 'openid',
          })
          expect(resultOf(started)).toBe('200')
          const page = await personAt(new UserAgent(), issuer).answer(person, String(started.body['user_code']))
          expect(page.status, page.html).toBe(200)
          return String(started.body['device_code'])
        },
        poll: (device_code: string) => token({ grant_type: deviceGrant, device_code, client_id: tvClient.client_id }),
      }
    },
  }
}

/** Resolves when an embedded store has collected what has expired by then. */
export const untilCollected = async (path: string, now: number): Promise<void> => {
  const environment = await acquireEnvironment(path, 1024 * 1024 * 1024)
  const due = () => refresh(environment) && environment.expiry.getKeysCount({ end: expiredBefore(now), limit: 1 })
  await expect.poll(due, { timeout: 20_000 }).toBe(0)
  await environment.release()
}

/** What is expected of an answer: its status, and its error where it has one. */
export const resultOf = ({ status, body }: Answer): string =>
  status === 200 ? '200' : `${String(status)} ${String(body['error'])}`
