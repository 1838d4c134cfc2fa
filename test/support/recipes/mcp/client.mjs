import { createRequire } from 'node:module'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { URL } from 'node:url'

// An MCP client by its SDK. It prints where its person has to go, reads the code, and answers each line `call` with what a tool says.

const load = createRequire(import.meta.url)
const { Client } = load('@modelcontextprotocol/sdk/client/index.js')
const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js')
const [url, redirectUri, auth_method] = process.argv.slice(2)
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const print = (line) => process.stdout.write(`${line}\n`)
const kept = {}
const provider = {
  redirectUrl: redirectUri,
  clientMetadata: {
    client_name: 'An MCP client',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    ...(auth_method && { token_endpoint_auth_method: auth_method }),
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  redirectToAuthorization: (to) => print(`authorize ${to.href}`),
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
}

const connect = async () => {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider })
  const client = new Client({ name: 'client', version: '1.0.0' })
  try {
    await client.connect(transport)
    return client
  } catch (error) {
    if (kept.tokens !== undefined) throw error
    const { value: code } = await lines.next()
    await transport.finishAuth(code)
    return connect()
  }
}

const client = await connect()
print('connected')
for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
  const { content } = await client.callTool({ name: 'whoami' })
  print(`whoami ${content[0].text}`)
}
await client.close()
