import { expect, it } from 'vitest'
import type { Log } from '../../core/observe/log.js'
import { adminToken, answerHandoff, createHandedOff, signInUrl, withHandoff } from '../support/clients/handoff.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { startServer } from '../support/server/server.js'

it('a claim of a service outside that has another type than OIDC Core §5.1 says is logged once, and not released', async () => {
  const warnings: unknown[] = []
  const log: Log = { debug() {}, info() {}, error() {}, warn: (text, more) => void warnings.push([text, more]) }
  await using server = await startServer({ configure: withHandoff(), log })
  const people = createHandedOff(server.issuer)
  const claims = { email: 'secret@corp.example', email_verified: 'true', updated_at: 'yesterday' }
  for (const subject of ['corp-1', 'corp-2']) {
    const agent = new UserAgent()
    const { interaction } = await people.begin(agent)
    const { redirect_to: to = '' } = await answerHandoff(server.admin, interaction, 'sign-in', { subject, claims })
    const { left } = await people.visit(agent, to)
    const { access_token } = (await (await people.token(people.codeForm(left))).json()) as { access_token: string }
    const released = await (await people.userinfo(access_token)).json()
    expect(released).toEqual({ sub: subject, email: claims.email })
  }
  const told = warnings.filter((line) => JSON.stringify(line).includes('is not released'))
  expect(told).toEqual(
    (
      [
        ['updated_at', 'must be a number (OpenID Connect Core §5.1)'],
        ['email_verified', 'must be a boolean (OpenID Connect Core §5.1)'],
      ] as const
    ).map(([claim, reason]) => [
      'a claim of a sign-in method is not released',
      expect.objectContaining({ method: 'own', claim, reason }),
    ]),
  )
  for (const secret of [adminToken, signInUrl, claims.email, 'yesterday'])
    expect(JSON.stringify(told)).not.toContain(secret)
})
