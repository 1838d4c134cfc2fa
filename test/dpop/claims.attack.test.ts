import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { expectBadProof } from '../support/server/dpop-server.js'
import { claim, dpop, seconds, setUpDpop } from '../support/server/dpop-set-up.js'

setUpDpop()

describe('what a proof says', () => {
  it('DP03 the wrong method', async () => {
    for (const htm of ['GET', 'post', 'Post', 'POST ', '', undefined, null, 1, ['POST'], 'PUT']) await claim({ htm })
  })

  it('DP03 the wrong URL', async () => {
    const { issuer } = dpop.host.server
    const { port } = new URL(issuer)
    for (const htu of [
      ...[undefined, null, 1, '', '/token', 'token', [dpop.tokenUrl], { href: dpop.tokenUrl }],
      ...[issuer, `${issuer}/`, `${issuer}/token/`, `${issuer}//token`, `${issuer}/Token`, `${issuer}/userinfo`],
      ...[`${issuer}/token/.`, `${issuer}/a/token`, `${issuer}/token%2F`, `${issuer}/%2Ftoken`, `${issuer}/token;a=b`],
      ...[`https://127.0.0.1:${port}/token`, `http://localhost:${port}/token`, `http://127.0.0.1/token`],
      ...[`http://127.1:${port}/token`, `http://0x7f.0.0.1:${port}/token`, `http://2130706433:${port}/token`],
      ...[`http://a@127.0.0.1:${port}/token`, `http://a:b@127.0.0.1:${port}/token`, `http:/127.0.0.1:${port}/token`],
      ...[`http:\\\\127.0.0.1:${port}\\token`, `http://127.0.0.1:${port}\\token`, ` ${dpop.tokenUrl}`],
      ...[
        `${dpop.tokenUrl}\n`,
        `${dpop.tokenUrl}%`,
        `${dpop.tokenUrl}%0`,
        `${dpop.tokenUrl}%00`,
        `ftp://127.0.0.1:${port}/token`,
      ],
      ...[
        `${issuer}/tok\ten`,
        `${issuer}/tökén`,
        `${dpop.tokenUrl}#é`,
        `//127.0.0.1:${port}/token`,
        'http://evil.example/token',
      ],
    ])
      await claim({ htu })
  })

  it('DP03 other spellings of the right URL are accepted (RFC 3986 §6.2.2, §6.2.3), and the Host header is ignored', async () => {
    const { issuer } = dpop.host.server
    for (const htu of [
      ...[`${dpop.tokenUrl}?a=b`, `${dpop.tokenUrl}#f`, `${dpop.tokenUrl}?a#b`, dpop.tokenUrl.replace('http', 'HTTP')],
      ...[
        `${issuer}/./token`,
        `${issuer}/x/../token`,
        `${issuer}/../token`,
        `${issuer}/%74oken`,
        `${issuer}/%2E/%74oken`,
      ],
    ])
      expect((await dpop.ask(await dpop.proof({ claims: { htu } }))).status).toBe(200)
    const forwarded = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    }
    expectBadProof(await dpop.ask(await dpop.proof({ claims: { htu: 'https://evil.example/token' } }), forwarded))
    expect((await dpop.ask(await dpop.proof(), forwarded)).status).toBe(200)
  })

  it('DP04 an old, future or malformed time', async () => {
    for (const iat of [
      ...[seconds() - 72, seconds() + 13, 0, -1, seconds() * 1000, -seconds(), 1e308, -1e308, 2 ** 53, 2 ** 63, 1e21],
      ...[undefined, null, '', String(seconds()), [seconds()], {}, true, seconds() + 12.5],
    ])
      await claim({ iat })
    const { jwk, alg } = dpop.prover
    for (const number of ['1e999', '-1e999', '99999999999999999999999999', '1E+400'])
      expectBadProof(
        await dpop.ask(
          dpop.prover.sign(
            { typ: 'dpop+jwt', alg, jwk },
            `{"htm":"POST","htu":"${dpop.tokenUrl}","jti":"${randomUUID()}","nonce":"${await dpop.nonce()}","iat":${number}}`,
          ),
        ),
      )
    for (const iat of [seconds() - 65, seconds() + 8, seconds() - 0.5, seconds() + 0.25])
      expect((await dpop.ask(await dpop.proof({ claims: { iat } }))).status).toBe(200)
  })
})
