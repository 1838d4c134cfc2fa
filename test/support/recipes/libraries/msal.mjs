import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import process from 'node:process'
import { URL } from 'node:url'

// A web application by MSAL for Node: it prints where its person has to go, reads the code, and prints the claims of the ID token.

const [packages, issuer, clientId, clientSecret, redirectUri] = process.argv.slice(2)
const { ConfidentialClientApplication } = createRequire(join(packages, 'package.json'))('@azure/msal-node')
const application = new ConfidentialClientApplication({
  auth: { clientId, clientSecret, authority: issuer, knownAuthorities: [new URL(issuer).host] },
  system: { protocolMode: 'OIDC' },
})
const scopes = ['openid', 'profile', 'email']
process.stdout.write(`${await application.getAuthCodeUrl({ scopes, redirectUri })}\n`)
const [code] = await once(createInterface({ input: process.stdin }), 'line')
const { idTokenClaims } = await application.acquireTokenByCode({ code, scopes, redirectUri })
process.stdout.write(`${JSON.stringify(idTokenClaims)}\n`, () => process.exit())
