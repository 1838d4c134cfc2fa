import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { redirectUri, serviceClient, webClient } from '../support/server/server.js'
import { basic, postClient } from '../support/clients/clients.js'
import { verifier } from '../support/forge/mint.js'
import { expectRefusal, read } from '../support/server/token-server.js'
import { host, setUpTokens } from '../support/server/token-set-up.js'

setUpTokens()

const formType = 'application/x-www-form-urlencoded'
const authorization = basic(webClient)

const post = async (body: BodyInit, headers: Record<string, string>, path = '/token') =>
  read(await fetch(host.server.issuer + path, { method: 'POST', body, headers }))

const encode = (form: Readonly<Record<string, string>>): string => new URLSearchParams(form).toString()

const multipart = (form: object): string => {
  const parts = Object.entries(form).map(
    ([name, value]) => `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${String(value)}\r\n`,
  )
  return `${parts.join('')}--x--\r\n`
}

const goodForm = async () => {
  const { code } = await host.mint.code()
  return { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
}

describe('requests to /token', () => {
  it.each([
    ['JSON', 'application/json', (form: object) => JSON.stringify(form)],
    ['JSON that says it is text', 'text/plain', (form: object) => JSON.stringify(form)],
    ['a form that says it is text', 'text/plain', encode],
    ['a form that says it is JSON', 'application/json', encode],
    ['a form in UTF-16', `${formType}; charset=utf-16`, encode],
    ['a form in UTF-7', `${formType}; charset=utf-7`, encode],
    ['XML', 'text/xml', () => '<a/>'],
    ['multipart', 'multipart/form-data; boundary=x', multipart],
  ])('HT01 %s is not read, good as it is', async (_, type, write) => {
    const form = await goodForm()
    expectRefusal(await post(write(form), { authorization, 'content-type': type }), 415, 'invalid_request')
    expectRefusal(await post(write(form), { 'content-type': type }, '/userinfo'), 415, 'invalid_request')
    expect((await post(encode(form), { authorization, 'content-type': formType })).status).toBe(200)
  })

  it('HT01 no body at all', async () => {
    expectRefusal(await post('', { authorization }), 400, 'invalid_request')
    expectRefusal(await post('', {}), 401, 'invalid_client')
  })

  it.each([
    ['code', 'code[$ne]='],
    ['code', 'code[$gt]='],
    ['code', 'code[$regex]=.*'],
    ['code', 'code[]=x'],
    ['code', 'code.$ne=x'],
    ['code_verifier', 'code_verifier[$ne]=x'],
    ['redirect_uri', 'redirect_uri[$exists]=true'],
    ['grant_type', 'grant_type[$in][]=authorization_code'],
  ])('HT02 an operator for %s: %s', async (name, operator) => {
    const form = await goodForm()
    const { [name as 'code']: taken, ...rest } = form
    expect(taken).toBeTypeOf('string')
    const answer = await post(`${encode(rest)}&${operator}`, { authorization, 'content-type': formType })
    expectRefusal(answer, 400, ['invalid_request', 'invalid_grant'])
    expect((await post(encode(form), { authorization, 'content-type': formType })).status).toBe(200)
  })

  it.each(['client_id[$gt]=', 'client_id[]=app', 'client_id[$ne]=x&client_secret[$ne]=x', 'client_id={"$gt":""}'])(
    'HT02 an operator for the client: %s',
    async (operator) => {
      const form = await goodForm()
      const answer = await post(`${encode(form)}&${operator}`, { 'content-type': formType })
      expectRefusal(answer, 401, 'invalid_client')
    },
  )

  it('HT03 magic names mean nothing, beside good parameters and instead of them', async () => {
    const magic = '__proto__[x]=1&__proto__.x=1&constructor[prototype][x]=1&__proto__=1&prototype=1&toString=1'
    const proto = '__proto__[grant_type]=authorization_code&__proto__[client_id]=app&__proto__[code]=x'
    const form = encode(await goodForm())
    expect((await post(`${magic}&${form}`, { authorization, 'content-type': formType })).status).toBe(200)
    expectRefusal(await post(proto, { authorization, 'content-type': formType }), 400, 'invalid_request')
    expectRefusal(await post(proto, { 'content-type': formType }), 401, 'invalid_client')
    for (const name of ['x', 'grant_type', 'client_id', 'code'])
      expect(({} as Record<string, unknown>)[name]).toBeUndefined()
  })

  it.each(['code', 'redirect_uri', 'code_verifier', 'scope', 'resource', 'client_id', 'anything'])(
    'HT11 bytes that are not text in %s',
    async (name) => {
      const form = await goodForm()
      const others = encode(Object.fromEntries(Object.entries(form).filter(([other]) => other !== name)))
      for (const value of ['%FF', '%C0%AF', '%ED%A0%80', '%F4%90%80%80', '%4', '%', '%zz', '%00', 'a%00b']) {
        const answer = await post(`${others}&${name}=${value}`, { authorization, 'content-type': formType })
        expectRefusal(answer, 400, 'invalid_request')
      }
      for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0x00], [0xe2, 0x82]]) {
        const body = Buffer.concat([Buffer.from(`${others}&${name}=`), Buffer.from(bytes)])
        expectRefusal(await post(body, { authorization, 'content-type': formType }), 400, 'invalid_request')
      }
      expect((await post(encode(form), { authorization, 'content-type': formType })).status).toBe(200)
    },
  )

  it('HT11 a NUL does not cut a value short', async () => {
    const form = await goodForm()
    for (const code of [`${form.code}\0`, `${form.code}\0x`, `\0${form.code}`])
      expectRefusal(await host.redeem(code), 400, 'invalid_request')
    expectRefusal(await host.token({ ...form, client_id: 'web\0' }, { authorization }), 400, 'invalid_request')
    expect((await host.redeem(form.code)).status).toBe(200)
  })

  it('HT13 no answer discloses the inside, nor gives back what was sent', async () => {
    const canary = 'canary-5d2c8e9a7b6f4e3d'
    const names = ['grant_type', 'code', 'refresh_token', 'redirect_uri', 'code_verifier', 'scope', 'resource', canary]
    for (const name of names)
      for (const grant_type of ['authorization_code', 'refresh_token', 'client_credentials'])
        for (const client of [webClient, serviceClient]) {
          const form = { grant_type, code: 'x', refresh_token: 'x', [name]: canary }
          const answer = await post(encode(form), { authorization: basic(client), 'content-type': formType })
          if (answer.status === 200) continue
          expectRefusal(answer, 400, String(answer.body['error']))
          expect(answer.text + JSON.stringify([...answer.headers])).not.toContain(canary)
        }
    for (const headers of [
      { authorization: `Basic ${canary}` },
      { authorization: `Bearer ${canary}` },
      { authorization: basic({ client_id: canary, client_secret: canary }) },
      { 'x-request-id': canary },
      { origin: `https://${canary}` },
    ] as Record<string, string>[]) {
      const answer = await post('grant_type=x', { 'content-type': formType, ...headers })
      expectRefusal(answer, 401, 'invalid_client')
      expect(answer.text + JSON.stringify([...answer.headers])).not.toContain(canary)
    }
  })

  it('HT14 nothing is kept by a cache, whatever the answer', async () => {
    const answers = [
      await host.token({ grant_type: 'client_credentials' }, { authorization: basic(serviceClient) }),
      await host.token({
        grant_type: 'client_credentials',
        client_id: 'post',
        client_secret: postClient.client_secret,
      }),
      await host.redeem((await host.mint.code()).code),
      await host.refresh((await host.mint.refreshToken()).token),
      await host.redeem('x'),
      await host.token({}, { authorization }),
      await host.token({}),
      await host.userinfo('x'),
      await post('', {}, '/userinfo'),
      await read(await fetch(`${host.server.issuer}/token`)),
      await read(await fetch(`${host.server.issuer}/userinfo?access_token=x`)),
      await post(Buffer.alloc(70_000, 'a'), { 'content-type': formType }),
      await post('x', { 'content-type': 'text/plain' }),
    ]
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 400, 401, 405, 413, 415]))
    for (const { headers } of answers) {
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('pragma')).toBe('no-cache')
    }
  })

  it('HT14 the type of every answer is JSON that no browser guesses about', async () => {
    for (const answer of [await host.redeem('x'), await host.redeem((await host.mint.code()).code)]) {
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  it('a parameter twice, in the same spelling or another, even an unknown one', async () => {
    const form = encode(await goodForm())
    for (const more of [
      '&code=x',
      '&grant_type=refresh_token',
      '&redirect_uri=',
      '&c%6fde=x',
      '&scope=a&scope=a',
      '&x=1&x=',
    ])
      expectRefusal(await post(form + more, { authorization, 'content-type': formType }), 400, 'invalid_request')
    expect((await post(form, { authorization, 'content-type': formType })).status).toBe(200)
  })

  it('two Authorization headers', async () => {
    const form = encode(await goodForm())
    const { hostname, port } = new URL(host.server.issuer)
    const text = await new Promise<string>((resolve, reject) => {
      let received = ''
      const socket = connect(Number(port), hostname, () => {
        socket.write(
          `POST /token HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${formType}\r\n` +
            `Authorization: ${authorization}\r\nAuthorization: ${basic(serviceClient)}\r\n` +
            `Content-Length: ${form.length}\r\n\r\n${form}`,
        )
      })
      socket.on('data', (chunk) => (received += chunk.toString()))
      socket.on('error', reject)
      socket.on('close', () => resolve(received))
    })
    expect(text).toMatch(/^HTTP\/1\.1 400 [^]*"error":"invalid_request"/)
    expect((await post(form, { authorization, 'content-type': formType })).status).toBe(200)
  })
})

describe('the public port', () => {
  it.each([
    ...['/admin', '/admin/', '/admin/clients', '/admin/reload', '/reload', '/metrics', '/health', '/health/live'],
    ...['/health/ready', '/healthz', '/readyz', '/livez', '/status', '/debug', '/debug/pprof', '/debug/vars', '/env'],
    ...[
      '/actuator',
      '/actuator/env',
      '/actuator/heapdump',
      '/config',
      '/config.yaml',
      '/signet.yaml',
      '/.env',
      '/keys',
    ],
    ...[
      '/.git/config',
      '/package.json',
      '/clients',
      '/accounts',
      '/audit',
      '/audit.jsonl',
      '/store/data.mdb',
      '/heapdump',
    ],
    ...[
      '/json/list',
      '/server-status',
      '/graphql',
      '/swagger.json',
      '/openapi.json',
      '/assets/../package.json',
      '/token/debug',
    ],
  ])('AD02 has no %s', async (path) => {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE'])
      for (const accept of ['application/json', 'text/html']) {
        const response = await fetch(host.server.issuer + path, { method, headers: { accept } })
        expect(response.status).toBe(404)
        expect(await response.text()).not.toMatch(/node_modules|\.[jt]s:\d|at .+\(/)
        expect(response.headers.get('cache-control')).toBe('no-store')
      }
  })

  it('AD02 and the admin port has no /token', async () => {
    expect((await fetch(`${host.server.admin}/health/live`)).status).toBe(200)
    for (const path of ['/token', '/authorize', '/userinfo', '/jwks.json', '/'])
      expect((await fetch(host.server.admin + path, { method: 'POST' })).status).toBe(404)
  })
})
