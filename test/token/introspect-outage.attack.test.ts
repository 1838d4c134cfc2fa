import { describe, expect, it } from 'vitest'
import { webClient } from '../support/server/server.js'
import { basic } from '../support/clients/clients.js'
import { failingAudit, failingStore, type Faults, inBothRoles } from '../support/stores/failing-store.js'
import { expectRefusal, read, startTokenServer, type Answer, type TokenServer } from '../support/server/token-server.js'

const authorization = basic(webClient)
const signed = 'application/token-introspection+jwt'

const ask = async (on: TokenServer, token: string, accept = '*/*'): Promise<Answer> => {
  const body = new URLSearchParams({ token })
  return read(
    await fetch(`${on.server.issuer}/introspect`, { method: 'POST', body, headers: { authorization, accept } }),
  )
}

const issue = async (on: TokenServer) => {
  const { code } = await on.mint.code()
  return (await on.redeem(code)).body as Record<'access_token' | 'refresh_token', string>
}

describe('/introspect in an outage', () => {
  it('IN04 the store is down: 503 with Retry-After, neither active nor not', async () => {
    const faults: Faults = new Map()
    await using broken = await startTokenServer({ doubles: { stores: inBothRoles(failingStore(faults)) } })
    const { access_token, refresh_token } = await issue(broken)
    for (const fault of ['revocations.isRevoked', '*'])
      for (const [token, accept] of [
        [access_token, '*/*'],
        [access_token, signed],
        [refresh_token, '*/*'],
      ] as const) {
        faults.set(fault, 'before')
        const answer = await ask(broken, token, accept)
        expectRefusal(answer, 503, 'temporarily_unavailable')
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
        expect(answer.text).not.toContain('active')
        faults.clear()
        expect((await ask(broken, token)).body['active']).toBe(true)
      }
  })

  it('the audit log cannot be written: no signed answer leaves', async () => {
    const lost = new Set(['introspection.signed'])
    const doubles = { store: failingStore(new Map()), audit: failingAudit(lost) }
    await using broken = await startTokenServer({ doubles })
    const { access_token } = await issue(broken)
    expectRefusal(await ask(broken, access_token, signed), 503, 'temporarily_unavailable')
    expect((await ask(broken, access_token)).body['active']).toBe(true)
    lost.clear()
    expect((await ask(broken, access_token, signed)).status).toBe(200)
  })
})
