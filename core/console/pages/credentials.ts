import { z } from 'zod'
import { addCredential, readOperator, removeCredential } from '../../administration/operator-people.js'
import { Problem, unlessRefused } from '../../admin-api/problem.js'
import { hashOpaqueToken } from '../../opaque-token.js'
import { toPlainText } from '../../plain-text.js'
import type { OperatorPasskey } from '../../operators/operator-record.js'
import { hasPasskeys, newPasskeyOptions, readNewPasskey } from '../../operators/passkeys.js'
import { sessionCookie, setSessionCookie } from '../../operators/sessions.js'
import { beginSignIn, takeSignIn } from '../../operators/sign-ins.js'
import { defineForm, definePage, type ConsoleCall } from '../console-page.js'

/** The site and the cookie of a session. Other operators, such as programs, have neither. */
const sessionOf = ({ request, parts, operator }: ConsoleCall<unknown>) => {
  const site = parts.operators.site(request)
  const cookie = site && request.cookie(sessionCookie(site))
  return site === undefined || cookie === undefined || operator.csrf === undefined ? undefined : { site, cookie }
}

const noSession = (): never => {
  throw new Problem(409, 'no_session', 'This needs a session in a browser.')
}

const isPasskey = <C extends { readonly kind: string }>(credential: C): credential is C & OperatorPasskey =>
  credential.kind === 'passkey'

const maxName = 60

export const credentialPages = [
  definePage({ path: '/credentials', permission: 'operator' }, async (call) => {
    const { parts, operator, texts } = call
    const found = await readOperator(parts, operator.name)
    const session = sessionOf(call)
    const known = found?.credentials ?? []
    let setup: { readonly challenge: string; readonly options: string } | undefined
    if (found !== undefined && session !== undefined && hasPasskeys(session.site)) {
      const begun = { kind: 'new_passkey' as const, name: found.name, session: hashOpaqueToken(session.cookie) }
      const challenge = await beginSignIn(parts.operators.begun, begun)
      const options = await newPasskeyOptions(session.site, {
        name: found.name,
        challenge,
        known: known.filter(isPasskey),
      })
      setup = { challenge, options: JSON.stringify(options) }
    }
    return {
      view: 'credentials',
      title: texts.text('credentials.title'),
      data: {
        items: known.map((credential) => ({
          ...{ id: credential.id, kind: texts.text(`credentials.kind.${credential.kind}`) },
          name: credential.kind === 'passkey' ? credential.name : undefined,
          passkey: credential.kind === 'passkey' ? credential : undefined,
          since: credential.kind === 'passkey' && credential.createdAt ? credential.createdAt * 1000 : undefined,
          isThis: credential.id === operator.credential,
        })),
        isKnown: found !== undefined,
        setup,
        script: setup && 'passkeys.js',
      },
    }
  }),
  defineForm(
    {
      ...{ path: '/credentials', permission: 'operator' },
      input: z.object({
        challenge: z.string().max(64),
        answer: z.string().max(16_384),
        name: z.string().max(200).optional(),
      }),
    },
    async (call) => {
      const { parts, by, operator, input } = call
      const { site, cookie } = sessionOf(call) ?? noSession()
      const begun = await takeSignIn(parts.operators.begun, 'new_passkey', input.challenge)
      const isOwn = begun?.name === operator.name && begun.session === hashOpaqueToken(cookie)
      const made = isOwn ? await readNewPasskey(site, input.answer, input.challenge) : undefined
      if (made === undefined)
        throw new Problem(400, 'not_a_passkey', 'The authenticator made no passkey for this page.')
      const name = [...toPlainText(input.name ?? '')].slice(0, maxName).join('').trim()
      const credential = {
        ...made,
        createdAt: Math.floor(parts.clock() / 1000),
        ...(name !== '' && { name }),
      }
      unlessRefused(await addCredential(parts, by, { name: operator.name, issuer: operator, credential }))
      return { to: '/credentials', notice: 'passkey_added' }
    },
  ),
  defineForm(
    {
      ...{ path: '/credentials/remove', permission: 'operator' },
      input: z.object({ id: z.string().max(64) }),
    },
    async ({ parts, by, operator, input: { id } }) => {
      unlessRefused(await removeCredential(parts, by, { name: operator.name, issuer: operator, id }))
      return { to: '/credentials', notice: 'credential_removed' }
    },
  ),
  defineForm({ path: '/sign-out', permission: 'operator' }, async (call) => {
    const { parts, by } = call
    const { site, cookie } = sessionOf(call) ?? noSession()
    await parts.operators.sessions.end(cookie)
    await parts.audit.record({ event: 'operator.signed_out', by })
    return { to: '/sign-in', cookies: [setSessionCookie(site, '')] }
  }),
]
