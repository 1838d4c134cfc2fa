import { attestationHeader, messageSignatureTag } from '../wire/names.js'
import { isTime, maxIdLength } from '../wire/request-claims.js'
import { signatureBase, type CoveredComponents } from '../wire/signature-base.js'
import type { Message } from './message.js'
import type { Proof } from './proof.js'
import { refused } from './refusal.js'

const label = String.raw`[a-z*][a-z0-9_\-.*]*`
const text = String.raw`"(?:[ !#-[\]-~]|\\["\\])*"`
const bytes = String.raw`:[A-Za-z0-9+/]*={0,2}:`
const parameters = String.raw`(?:; *${label}(?:=(?:${text}|${bytes}|[-0-9A-Za-z*?][^\s",;()]*))?)*`
/**
 * Members of `Signature-Input` and of `Signature` (RFC 9421 §4.1, §4.2), in forms that others may write beside ours.
 */
const inputs = new RegExp(
  String.raw`(${label})=(\((?:${text}${parameters} ?)*\)${parameters})(?:[ \t]*,[ \t]*(?=.)|$)`,
  'y',
)
const signatures = new RegExp(String.raw`(${label})=(${bytes})${parameters}(?:[ \t]*,[ \t]*(?=.)|$)`, 'y')
const keys = new RegExp(String.raw`(${label})=(hwk${parameters})(?:[ \t]*,[ \t]*(?=.)|$)`, 'y')

/** The members of a dictionary (RFC 8941 §3.2). Throws `malformed`, also for a repeated label. */
const readDictionary = (member: RegExp, value: string | undefined): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  if (value === undefined) throw refused('malformed')
  for (member.lastIndex = 0; member.lastIndex < value.length;) {
    const [, name = '', content = ''] = member.exec(value) ?? []
    if (name === '' || found.has(name)) throw refused('malformed')
    found.set(name, content)
  }
  return found
}

/** The form of ours: plain names, and exactly these parameters, in any order. */
const oursForm = /^\(("[a-z@-]+"(?: "[a-z@-]+")*)\)((?:;[a-z]+=(?:\d{1,15}|"[!#-[\]-~]*"))+)$/
const keyForm = /^hwk((?:; ?[a-z]+="[\w-]+")+)$/

const readParameters = (list: string): ReadonlyMap<string, string> => {
  const pairs = [...list.matchAll(/; ?([a-z]+)=(?:"([^"]*)"|(\d+))/g)]
  const found = new Map(pairs.map(([, name = '', quoted, number]) => [name, quoted ?? number ?? '']))
  if (found.size !== pairs.length) throw refused('malformed')
  return found
}

const isOurs = (input: string): boolean => input.includes(`;tag="${messageSignatureTag}"`)

/** Whether the request has a device's HTTP message signature. Others, for example of a proxy, may be present too. */
export const hasHttpMessageSignature = ({ headers }: Message): boolean => isOurs(headers.get('signature-input') ?? '')

/**
 * Reads a device's HTTP message signature (RFC 9421 with RFC 9530; the key is in `Signature-Key`,
 * draft-hardt-httpbis-signature-key). `origin` is where clients reach this verifier. Throws `malformed`, `bad_alg`.
 */
export const readHttpMessageSignature = (message: Message, origin: string): Proof => {
  const { headers } = message
  const [[name, params] = ['', ''], ...others] = [...readDictionary(inputs, headers.get('signature-input'))].filter(
    ([, input]) => isOurs(input),
  )
  const [, list = '', rest = ''] = oursForm.exec(params) ?? []
  const signature = readDictionary(signatures, headers.get('signature')).get(name)
  const key = readDictionary(keys, headers.get('signature-key')).get(name)
  if (others.length > 0 || rest === '' || signature === undefined || key === undefined) throw refused('malformed')

  const said = readParameters(rest)
  const created = Number(said.get('created') ?? Number.NaN)
  const expires = Number(said.get('expires') ?? Number.NaN)
  const id = said.get('nonce') ?? ''
  const hasAlg = said.has('alg')
  if (hasAlg && said.get('alg') !== 'ecdsa-p256-sha256') throw refused('bad_alg')
  if (!isTime(created) || !isTime(expires) || id === '' || id.length > maxIdLength) throw refused('malformed')
  if (!said.has('keyid') || said.size !== (hasAlg ? 6 : 5)) throw refused('malformed')

  const values = componentsOf(message, origin)
  const names = list.split(' ').map((quoted) => quoted.slice(1, -1))
  if (names.length !== values.size || new Set(names).size !== names.length) throw refused('malformed')
  const covered = Object.fromEntries(
    names.map((component) => {
      const value = values.get(component)
      if (value === undefined) throw refused('malformed')
      return [component, value]
    }),
  ) as unknown as CoveredComponents

  const digest = headers.get('content-digest')
  const [, sha256] = (digest !== undefined && /^sha-256=:([A-Za-z0-9+/]{43}=):$/.exec(digest)) || []
  if (digest !== undefined && sha256 === undefined) throw refused('malformed')
  return {
    jwk: Object.fromEntries(readParameters(keyForm.exec(key)?.[1] ?? '')),
    keyid: said.get('keyid'),
    input: signatureBase(covered, params),
    signature: Buffer.from(signature.slice(1, -1), 'base64'),
    issuedAt: created,
    expiresAt: expires,
    id,
    digest: sha256 === undefined ? undefined : { encoding: 'base64', text: sha256 },
    // Method, target and audience are part of the input, so a signature for another request does not verify.
    checkTarget: () => undefined,
  }
}

/** The components that a signature must cover, and no others. */
const componentsOf = ({ method, target, headers }: Message, origin: string): ReadonlyMap<string, string> => {
  const values = new Map([
    ['@method', method],
    ['@target-uri', `${origin}${target}`],
  ])
  for (const name of ['content-type', 'content-digest', attestationHeader, 'signature-key']) {
    const value = headers.get(name)
    if (value !== undefined) values.set(name, value.trim())
  }
  return values
}
