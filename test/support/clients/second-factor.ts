import type { PluginModule, Services } from '../../../core/api/index.js'
import type { Principal, SecondFactorVerifier } from '../../../core/api/attestation.js'
import type { RecordStore, ReplayGuard } from '../../../core/storage/ports.js'
import { Unavailable } from '../../../core/unavailable.js'
import { oneTimePassword, stepSeconds, type TotpForm } from '../../../core/totp/one-time-password.js'

/** The one second factor of a plugin, its options checked as a start checks them. Throws with the issues. */
export const createFactor = async (
  plugin: unknown,
  options: unknown,
  services: Partial<Services>,
): Promise<SecondFactorVerifier> => {
  const module = plugin as PluginModule<unknown, keyof Services>
  const checked = await module.options?.['~standard'].validate(options)
  if (!checked || checked.issues) throw new Error(checked?.issues.map(({ message }) => message).join('; '))
  const { secondFactors: [factor] = [] } = await module.create(checked.value, services as Services)
  if (!factor) throw new Error('no second factor')
  return factor
}

const breaking =
  (isDown: () => boolean) =>
  <Given extends unknown[], Result>(verb: (...given: Given) => Promise<Result>) =>
  async (...given: Given): Promise<Result> => {
    if (isDown()) throw new Unavailable('storage.double', 'no', 'connection refused')
    return verb(...given)
  }

/** A double: these records, and no answer while `isDown`. */
export const breakable = <T>(sound: RecordStore<T>, isDown: () => boolean): RecordStore<T> => {
  const orBreak = breaking(isDown)
  return {
    find: orBreak((id) => sound.find(id)),
    put: orBreak((id, record, options) => sound.put(id, record, options)),
    remove: orBreak((id) => sound.remove(id)),
    list: orBreak((after, limit) => sound.list(after, limit)),
    update: (id, decide) => orBreak(() => sound.update(id, decide))(),
  }
}

/** A double: these claims, and no answer while `isDown`. */
export const breakableClaims = (sound: ReplayGuard, isDown: () => boolean): ReplayGuard => ({
  claim: breaking(isDown)((...claim) => sound.claim(...claim)),
})

/** An enrolment of which only the principal matters. */
export const enrolmentOf = (principal: Principal) => ({
  principal,
  jkt: 'thumbprint',
  attributes: {},
  address: '192.0.2.1',
  requestId: 'request',
  signal: new AbortController().signal,
})

/** A new secret of a factor that issues them. */
export const issueTo = async (factor: SecondFactorVerifier, principal: Principal): Promise<string> => {
  const issued = await factor.issue?.(principal)
  return issued?.lines['secret'] ?? ''
}

export const verify = (factor: SecondFactorVerifier, principal: Principal, value: string, kind = 'totp') =>
  factor.verify(enrolmentOf(principal), { kind, value })

/** True: right, and used up by this call. False: right, and used before. Undefined: wrong. */
export const enrol = async (...given: Parameters<typeof verify>): Promise<boolean | undefined> => {
  const answer = await verify(...given)
  return answer.ok ? answer.consume?.() : undefined
}

/** What an authenticator app shows at `now`, in milliseconds. */
export const showPassword = (secret: string, now: number, form: TotpForm = { algorithm: 'SHA1', digits: 6 }): string =>
  oneTimePassword(fromBase32(secret), Math.floor(now / 1000 / stepSeconds), form)

export const fromBase32 = (text: string): Uint8Array => {
  const bits = Array.from(text, (letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  )
  return Uint8Array.from(bits.join('').match(/.{8}/g) ?? [], (eight) => parseInt(eight, 2))
}
