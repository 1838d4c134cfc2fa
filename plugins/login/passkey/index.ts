import { definePlugin } from '../../../core/api/index.js'
import { options, relyingPartyOf } from './options.js'
import { createPasskeyEnrolment } from './registration.js'
import { finishSignIn, passkeyAmr, requestOptions } from './sign-in.js'

/** Completes the sentence "Sign in with a passkey". */
const passkeyTitle = {
  en: 'a passkey',
  de: 'Passkey',
  fr: 'une clé d’accès',
  es: 'una llave de acceso',
  ar: 'مفتاح المرور',
}

/** Sign-in with a passkey (Web Authentication Level 3): by itself, or as a second factor with `after`. */
export default definePlugin({
  name: 'passkey',
  apiVersion: 1,
  options,
  needs: ['clock', 'issuer', 'personFactors'],
  create(wanted, { clock, issuer, personFactors: factors }) {
    const { id, title, acr, after } = wanted
    const party = relyingPartyOf(issuer, wanted)
    const own = { party, acr, factors }
    return {
      factorEnrolment: createPasskeyEnrolment(party, clock),
      signIn: [
        {
          ...{ id, kind: 'ceremony', amr: [...new Set([...passkeyAmr(false), ...passkeyAmr(true)])] },
          title: title ?? passkeyTitle,
          ...(after && { after }),
          async begin(attempt) {
            const asked = await requestOptions(attempt, own)
            return asked === undefined ? { kind: 'none' } : { kind: 'ceremony', options: asked }
          },
          finish: (attempt, answer) => finishSignIn(attempt, answer['answer'], own),
        },
      ],
    }
  },
})
