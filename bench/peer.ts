import { fileURLToPath } from 'node:url'
import {
  apiScope,
  clientsFor,
  codeChallenge,
  redirectUri,
  resource,
  type Contestant,
  type Setting,
} from './contestant.js'
import { freePort } from '../test/support/free-port.js'
import { receive, startPinned, stop } from '../test/support/peer/pinned.js'

/** oidc-provider in a separate process on the first core. */
export const startPeer = async (setting: Setting): Promise<Contestant> => {
  const { alg, privateKey, stores } = setting
  const port = await freePort()
  const settings = {
    issuer: `http://127.0.0.1:${port}`,
    port,
    alg,
    jwk: { ...privateKey.export({ format: 'jwk' }), kid: 'bench', use: 'sig', alg },
    clients: clientsFor(setting),
    certificates: setting.certificates === true,
    resource,
    scope: apiScope,
    stores,
  }
  const file = fileURLToPath(new URL('../test/support/peer/peer-server.js', import.meta.url))
  const child = startPinned(0, ['--no-warnings', file, JSON.stringify(settings)])
  await receive(child)
  return {
    name: 'oidc-provider',
    port,
    pid: child.pid,
    paths: {
      token: '/token',
      authorization: '/auth',
      pushedAuthorizationRequest: '/request',
      userinfo: '/userinfo',
      introspection: '/token/introspection',
      keySet: '/jwks',
      discovery: '/.well-known/openid-configuration',
    },
    async mintCodes(count, request) {
      child.send({ count, ...request, redirectUri, codeChallenge })
      const { codes } = (await receive(child)) as { codes: readonly string[] }
      return codes
    },
    async signIn(clientId) {
      child.send({ session: clientId })
      return ((await receive(child)) as { cookie: string }).cookie
    },
    [Symbol.asyncDispose]: () => stop(child),
  }
}
