import type { RequestListener } from 'node:http'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import type { disposeAfterAll } from '../dispose-after-all.js'
import { openSite } from '../server/site.js'

/** A client's endpoint for logout tokens; every token that reaches it is kept, whatever it answers. */
export const openLogoutReceiver = async (keep: ReturnType<typeof disposeAfterAll>, answer: RequestListener = ok) => {
  const site = keep(await openSite(answer))
  const tokens = () => site.asked.map(({ body }) => new URLSearchParams(body.toString()).get('logout_token') ?? '')
  return {
    site,
    uri: `${site.url}/logout`,
    tokens,
    claims: () => tokens().map((token) => decodeJwt(token)),
    /** As a client has to (OIDC Back-Channel Logout §2.6). */
    verify: async (token: string | undefined, issuer: string, audience: string) => {
      const keys = createRemoteJWKSet(new URL(`${issuer}/jwks.json`))
      const verified = await jwtVerify(token ?? '', keys, { issuer, audience, typ: 'logout+jwt' })
      return verified.payload
    },
  }
}

export const ok: RequestListener = (_request, response) => void response.end()
