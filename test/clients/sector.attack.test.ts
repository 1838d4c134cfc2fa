import { describe, expect, it } from 'vitest'
import { createCheckSector } from '../../core/oauth/clients/check-sector.js'
import type { Client } from '../../core/oauth/clients/client.js'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import { sectorOf } from '../../core/oauth/clients/sector.js'
import { createOutboundFetch } from '../../core/outbound/outbound-fetch.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { webClient } from '../support/server/server.js'
import { jsonAnswer, noAnswers, openSite, textAnswer } from '../support/server/site.js'

const parse = (metadata: object) =>
  parseClientMetadata({ ...webClient, subject_type: 'pairwise', ...metadata }, ['openid'])
const clientOf = (metadata: object): Client => {
  const { client, problems } = parse(metadata)
  if (client === undefined) throw new Error(JSON.stringify(problems))
  return client
}

describe('the sector of a client (OIDC Core §8.1)', () => {
  it.each([
    ['one host', ['https://a.example/cb', 'https://a.example/other'], 'a.example'],
    ['one host in other spellings', ['https://A.Example:8443/cb', 'https://a.example/cb'], 'a.example'],
    ['no redirect URI', [], 'client one'],
    ['loopback', ['http://127.0.0.1/cb', 'http://[::1]/cb', 'http://localhost:3000/cb'], 'client one'],
    ['a private-use scheme', ['com.example.app:/cb'], 'client one'],
  ])('%s', (_, redirect_uris, sector) => {
    const grant_types = redirect_uris.length === 0 ? ['urn:ietf:params:oauth:grant-type:device_code'] : undefined
    const client = clientOf({ client_id: 'one', application_type: 'native', redirect_uris, grant_types })
    expect(sectorOf(client)).toBe(sector)
    expect(sectorOf({ ...client, sector_identifier_uri: 'https://S.example:444/uris.json' })).toBe('s.example')
  })

  it.each([
    [['https://a.example/cb', 'https://b.example/cb']],
    [['https://a.example/cb', 'https://a.example./cb']],
    [['https://a.example/cb', 'https://www.a.example/cb']],
    [['https://a.example/cb', 'http://localhost/cb']],
    [['https://a.example/cb', 'com.example.app:/cb']],
  ])('PW01 %j without sector_identifier_uri is refused', (redirect_uris) => {
    const metadata = { application_type: 'native', redirect_uris }
    expect(parse(metadata).problems).toMatchObject([{ path: 'sector_identifier_uri' }])
    expect(parse({ ...metadata, sector_identifier_uri: 'https://a.example/uris.json' }).problems).toEqual([])
    expect(parse({ ...metadata, subject_type: 'public' }).problems).toEqual([])
  })

  it.each([
    'http://a.example/uris.json',
    'https://user:word@a.example/uris.json',
    'https://a.example/uris.json#x',
    'javascript:alert(1)',
    'a.example',
    `https://a.example/${'x'.repeat(2048)}`,
    7,
  ])('PW02 %s is no sector_identifier_uri', (sector_identifier_uri) => {
    expect(parse({ sector_identifier_uri }).problems).toMatchObject([{ path: 'sector_identifier_uri' }])
  })

  it('PW04 a client that registers itself gets no sector by a grant that answers elsewhere', async () => {
    const check = createCheckSector(() => Promise.resolve(Buffer.from('["https://a.example/cb"]')))
    for (const grant of [
      'urn:ietf:params:oauth:grant-type:device_code',
      'urn:ietf:params:oauth:grant-type:token-exchange',
      'urn:example:custom',
    ]) {
      const grant_types = ['authorization_code', grant]
      for (const named of [{}, { sector_identifier_uri: 'https://a.example/uris.json' }]) {
        const client = clientOf({ redirect_uris: ['https://a.example/cb'], grant_types, ...named })
        expect(await check(client, 'registration')).toMatchObject([{ path: 'subject_type' }])
        expect(await check(client, 'operator')).toEqual([])
      }
      const own = clientOf({ redirect_uris: ['http://localhost/cb'], grant_types })
      expect(await check(own, 'registration')).toEqual([])
    }
    const plain = clientOf({
      redirect_uris: ['https://a.example/cb'],
      grant_types: ['authorization_code', 'refresh_token'],
    })
    expect(await check(plain, 'registration')).toEqual([])
  })
})

describe('the document of a sector', () => {
  const keep = disposeAfterAll()
  const open = async () => {
    const site = keep(await openSite())
    const redirect_uris = ['https://a.example/cb', 'https://b.example/cb?x=1']
    const client = clientOf({ redirect_uris, sector_identifier_uri: `${site.url}/uris.json` })
    const check = createCheckSector(createOutboundFetch({ allowPrivateAddresses: true, deadlineMs: 300 }))
    return { site, redirect_uris, client, check: () => check(client, 'registration') }
  }

  it('lists every redirect URI', async () => {
    const { site, redirect_uris, check } = await open()
    site.answer = jsonAnswer(['https://other.example/cb', ...redirect_uris])
    expect(await check()).toEqual([])
    expect(site.asked).toMatchObject([{ method: 'GET', path: '/uris.json' }])
  })

  it('PW03 that omits one, spells it differently, or is not a JSON array of strings is refused', async () => {
    const { site, redirect_uris, check } = await open()
    const [first = '', second = ''] = redirect_uris
    const answers = [
      ...[[first], [], [first, second.toUpperCase()], [first, `${second}/`], [first, 'https://b.example/cb']].map(
        jsonAnswer,
      ),
      ...[{ redirect_uris }, [redirect_uris], [...redirect_uris, 7], [...redirect_uris, null], first, null].map(
        jsonAnswer,
      ),
      ...['', 'https://a.example/cb', '["https://a.example/cb"', `${JSON.stringify(redirect_uris)}x`].map(textAnswer),
      textAnswer(Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d])),
    ]
    for (const answer of answers) {
      site.answer = answer
      expect(await check()).toMatchObject([
        { path: 'sector_identifier_uri', message: expect.stringMatching(/^must l/) as string },
      ])
    }
  })

  it.each(Object.keys(noAnswers))('PW02 that %s is refused, and no redirect is followed', async (name) => {
    const { site, check } = await open()
    site.answer = noAnswers[name]!
    expect(await check()).toEqual([{ path: 'sector_identifier_uri', message: 'cannot be fetched' }])
    expect(site.asked.map(({ path }) => path)).toEqual(['/uris.json'])
  })

  it('PW02 at a private address is refused without a connection', async () => {
    const { site, client } = await open()
    const check = createCheckSector(createOutboundFetch({ allowPrivateAddresses: false }))
    const { port } = new URL(site.url)
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433', '0x7f.1']) {
      const sector_identifier_uri = `http://${host}:${port}/uris.json`
      expect(await check({ ...client, sector_identifier_uri }, 'operator')).toMatchObject([
        { message: 'cannot be fetched' },
      ])
    }
    expect(site.asked).toEqual([])
  })
})
