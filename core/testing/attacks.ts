import type { Client } from '../oauth/clients/client.js'
import type { TrialRequest } from './attempt.js'

export interface Attack {
  readonly name: string
  readonly asked: TrialRequest
}

/** A client that is not part of the honest requests. */
export const victim = 'victim-client'
export const stranger = 'another-client'

const hostile = [
  '0',
  '-1',
  'null',
  '{}',
  '[object Object]',
  '__proto__',
  'constructor',
  'toString',
  "' OR '1'='1",
  '../../etc/passwd',
  '\u202E😀\uFFFF',
  'a-value-that-must-not-come-back',
  'A'.repeat(10_000),
]

/** Names from which a plugin might read a subject, a client or a permission. */
const invented = ['sub', 'subject', 'user', 'username', 'client', 'azp', 'act', 'aud', 'scope', 'iss', 'exp', 'claims']

const withParam = (asked: TrialRequest, name: string, value: string | undefined): TrialRequest => {
  const others = [...asked.params].filter(([other]) => other !== name)
  return { ...asked, params: new Map(value === undefined ? others : [...others, [name, value]]) }
}

const withClient = (asked: TrialRequest, change: Partial<Client>): TrialRequest => ({
  ...asked,
  client: { ...asked.client, ...change },
})

/** Derives every attack from an honest request, by purpose. */
export const attacksOn = (asked: TrialRequest, defaultAudience: string): readonly Attack[] => {
  const { client, params } = asked
  const own = [...params.keys()].filter((name) => name !== 'grant_type')
  const targets = [...client.allowed_audiences, defaultAudience]
  return [
    ...client.scope.map((name) => ({ name: `asks for the scope ${name} alone`, asked: { ...asked, scope: [name] } })),
    ...targets.map((name) => ({ name: `asks for the resource ${name} alone`, asked: { ...asked, resource: [name] } })),
    { name: 'as a client without scopes', asked: withClient({ ...asked, scope: [] }, { scope: [] }) },
    {
      name: 'as a client without resource servers',
      asked: withClient({ ...asked, resource: [] }, { allowed_audiences: [] }),
    },
    { name: 'as another client', asked: withClient(asked, { client_id: stranger }) },
    ...own.flatMap((name) => [
      { name: `leaves ${name} out`, asked: withParam(asked, name, undefined) },
      { name: `names a client in ${name}`, asked: withParam(asked, name, victim) },
      ...hostile.map((value) => ({
        name: `sends ${JSON.stringify(value.slice(0, 20))} in ${name}`,
        asked: withParam(asked, name, value),
      })),
    ]),
    ...invented
      .filter((name) => !params.has(name))
      .map((name) => ({ name: `adds ${name}`, asked: withParam(asked, name, victim) })),
  ]
}
