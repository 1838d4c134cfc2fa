import { fileURLToPath } from 'node:url'
import {
  apiScope,
  clientMetadata,
  codeChallenge,
  redirectUri,
  resource,
  type Contestant,
  type Setting,
} from './contestant.js'
import { freePort } from '../test/support/free-port.js'
import { receive, startPinned, stop } from '../test/support/peer/pinned.js'

/** oidc-provider in a process of its own on the first core. */
export const startPeer = async ({ alg, privateKey, stores }: Setting): Promise<Contestant> => {
  const port = await freePort()
  const settings = {
    issuer: `http://127.0.0.1:${port}`,
    port,
    alg,
    jwk: { ...privateKey.export({ format: 'jwk' }), kid: 'bench', use: 'sig', alg },
    clients: clientMetadata,
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
    [Symbol.asyncDispose]: () => stop(child),
  }
}
