import { exportJWK, generateKeyPair, SignJWT } from 'jose'

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const decode = (part = ''): object => JSON.parse(Buffer.from(part, 'base64url').toString()) as object

/** The same claims under another's key, which says that it is ours; and those of another issuer. */
const signedElsewhere = async (token: string): Promise<readonly string[]> => {
  const [header, payload] = token.split('.', 2).map((part) => decode(part))
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const sign = (protectedHeader: object, claims: object) =>
    new SignJWT({ ...claims }).setProtectedHeader({ ...protectedHeader, alg: 'ES256' }).sign(privateKey)
  return Promise.all([
    sign({ ...header }, { ...payload }),
    sign({ ...header, jwk: await exportJWK(publicKey) }, { ...payload }),
    sign({ ...header, kid: 'another' }, { ...payload, iss: 'https://evil.example' }),
  ])
}

/** ID tokens made from a good one: by other keys, by none, and with something around it. */
export const forgedHints = async (token: string): Promise<readonly string[]> => {
  const [header = '', payload = ''] = token.split('.')
  return [
    ...(await signedElsewhere(token)),
    ...['none', 'None', 'NONE', 'nOnE', '', 'HS256'].flatMap((alg) => {
      const start = `${encode({ ...decode(header), alg })}.${payload}.`
      return [start, `${start}AA`]
    }),
    ...[`${token}.`, `${token}=`, ` ${token}`, `${token}\n`, `Bearer ${token}`, JSON.stringify({ token })],
  ]
}

/** `https://client.example/signed-out?from=signet` as it is not registered: what a parser would take for the same, or nearly. */
export const spellingsOf = (uri: string): readonly string[] => {
  const at = (origin: string) => uri.replace('https://client.example', origin)
  const path = (rest: string) => `https://client.example/${rest}`
  return [
    ...['https://user@client.example', 'https://client.example@evil.example', 'https://client.example:443'].map(at),
    ...['https://client.example:8443', 'https://client.example.', 'https://client.example.evil.example'].map(at),
    ...['https://CLIENT.example', 'HTTPS://client.example', 'https://cl%69ent.example', 'https://clıent.example'].map(
      at,
    ),
    ...['https:client.example', 'https:/client.example', 'https:///client.example', 'https:\\\\client.example'].map(at),
    ...[
      '//client.example',
      '',
      'https://client.example/.',
      'https://client.example/',
      'https://client.example/x/..',
    ].map(at),
    ...[
      '%73igned-out?from=signet',
      'signed-out/?from=signet',
      'signed-out%3Ffrom=signet',
      'Signed-Out?from=signet',
    ].map(path),
    ...['signed-out', 'signed-out?', 'signed-out?from=', 'signed-out?from=signet&', 'signed-out?from=signe%74'].map(
      path,
    ),
    ...['signed-out?from=signet&from=signet', 'signed-out?From=signet', 'signed-out;x?from=signet'].map(path),
    ...[`${uri}#`, ` ${uri}`, `${uri} `, `${uri}\n`, `${uri}\t`, `${uri}\0`, `\ufeff${uri}`],
    ...[encodeURIComponent(uri), `${uri},${uri}`, `["${uri}"]`],
  ]
}

/** Other spellings of the client id `web`. */
export const spellingsOfWeb = [
  'WEB',
  'Web',
  'web ',
  ' web',
  'web\0',
  'web\n',
  'w%65b',
  'web,other',
  'https://client.example',
  'x'.repeat(300),
]
