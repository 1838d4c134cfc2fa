import { createServer } from 'node:http'
import { createVerifier, forHttp } from 'signet-idp/verify'

/** A resource server, which knows who sent each request. */
export const api = (issuer, audience) => {
  const verifier = createVerifier({ issuers: [issuer], audience })
  return createServer(
    forHttp(verifier, (_request, response, { principal, attributes, body }) => {
      response.end(JSON.stringify({ principal, attributes, order: JSON.parse(Buffer.from(body).toString()) }))
    }),
  )
}
