import { expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { freePort } from '../support/free-port.js'
import { describeWith } from '../support/services/describe-with.js'
import { startServer, webClient } from '../support/server/server.js'
import { begin, upstreamPlugin } from '../support/server/two-upstreams.js'
import { startUpstream } from '../support/server/upstream-provider.js'
import { makeToken, openProvider } from '../support/signers/softhsm/token.js'

describeWith('softhsm2', 'sign-in at an upstream OpenID Provider with a key in an HSM', () => {
  it('proves who this server is there by assertions that the HSM has signed', async () => {
    await using token = await makeToken()
    await using provider = await openProvider(token)
    await provider.create?.('assertions', 'PS256', AbortSignal.timeout(30_000))
    const port = await freePort()
    const issuer = `http://127.0.0.1:${String(port)}`
    await using upstream = await startUpstream(() => [
      {
        ...{ client_id: 'signet', token_endpoint_auth_method: 'private_key_jwt', jwks_uri: `${issuer}/jwks.json` },
        ...{ token_endpoint_auth_signing_alg: 'PS256', redirect_uris: [`${issuer}/sign-in/corp/callback`] },
      },
    ])
    const options = { module: token.module, token: token.label, pin: token.pin, environment: token.environment }
    await using server = await startServer({
      configure: (written) => ({
        ...written,
        issuer,
        listen: { host: '127.0.0.1', port },
        signers: { ...(written['signers'] as object), hsm: { use: 'signers/pkcs11', options } },
        keys: [
          { kid: 'tokens', alg: 'ES256', signer: 'local', ref: 'es256.pem', purposes: ['access_token', 'id_token'] },
          {
            kid: 'proof',
            alg: 'PS256',
            signer: 'hsm',
            ref: 'pkcs11:object=assertions',
            purposes: ['client_authentication'],
          },
        ],
        plugins: [...(written['plugins'] as object[]), upstreamPlugin('corp', upstream.issuer)],
        clients: [{ ...webClient, consent: 'implicit' }],
      }),
    })
    const agent = new UserAgent()
    const { left: back } = await new UserAgent().follow(await begin(agent, authorizeUrl(issuer), 'corp'))
    const { left } = await agent.follow(back ?? '')
    expect(left?.searchParams.has('code')).toBe(true)
    // One for the pushed request, one for the code.
    const signed = (await server.audit()).filter(({ event }) => event === 'request.signed')
    expect(signed).toHaveLength(2)
    for (const line of signed)
      expect(line['signatures']).toEqual([expect.objectContaining({ kid: 'proof', purpose: 'client_authentication' })])
  })
})
