import { epochSeconds, type Clock } from '../../clock.js'
import { listSubjectRecords, subjectRecordId } from '../../oauth/subjects/subject-records.js'
import { hashOpaqueToken } from '../../opaque-token.js'
import type { RecordStore } from '../../storage/ports.js'
import type { Passkey, PersonFactor, RecoveryCodes, TotpFactor } from './person-factor.js'
import { hashRecoveryCode } from './recovery-codes.js'

/** A person has no more of them. */
export const mostPasskeys = 20

/** Everything throws `Unavailable`. */
export interface PersonFactors {
  /** All that a person has, passkeys first. */
  list(subject: string): Promise<readonly PersonFactor[]>
  /**
   * The passkey of a credential id (base64url), if it is one of this person: by `subject`, or by the user handle that the
   * authenticator gave (base64url). One read.
   */
  findPasskey(
    of: { readonly subject: string } | { readonly userHandle: string },
    credentialId: string,
  ): Promise<OwnedPasskey | undefined>
  /** `known`: the person has a passkey of this credential id. */
  addPasskey(subject: string, passkey: Passkey): Promise<'added' | 'known' | 'full'>
  /**
   * Notes a sign-in with a passkey, in one atomic step with the look at its counter: false, and nothing changes, when the
   * counter does not go up (Web Authentication Level 3 §7.2), or the passkey has gone.
   */
  usePasskey(subject: string, credentialId: string, seen: Pick<Passkey, 'counter' | 'backedUp'>): Promise<boolean>
  /** False when there is none with this id. */
  renamePasskey(subject: string, id: string, name: string): Promise<boolean>
  findTotp(subject: string): Promise<TotpFactor | undefined>
  /** Replaces what was there. */
  putTotp(subject: string, factor: TotpFactor): Promise<void>
  /**
   * Uses a step of the secret `sealed`, in one atomic step: of N callers one gets true. False for a step that is not newer than
   * all that were used, and when the secret is another one by now.
   */
  useTotpStep(subject: string, sealed: string, step: number): Promise<boolean>
  /** Replaces the codes of before. */
  putRecoveryCodes(subject: string, codes: readonly string[]): Promise<void>
  /** Uses a code, as it was typed, in one atomic step: of N callers one gets true. */
  useRecoveryCode(subject: string, typed: string): Promise<boolean>
  /** What was removed; undefined when there is none with this id. */
  remove(subject: string, id: string): Promise<PersonFactor | undefined>
  /** All that a person has. Resolves with what it was. */
  removeAll(subject: string): Promise<readonly PersonFactor[]>
}

export interface OwnedPasskey extends Passkey {
  readonly subject: string
}

/** As stored: the id of the record has only a hash of it. */
type Stored = PersonFactor & { readonly subject: string }

/** By which forms and commands name a factor of a person. */
export const factorId = (factor: PersonFactor): string =>
  factor.kind === 'passkey' ? `passkey-${hashOpaqueToken(factor.credentialId).slice(0, 22)}` : factor.kind

/**
 * `user.id` of WebAuthn, base64url of 32 bytes: a hash, so that it names nobody (Web Authentication Level 3 §14.6.1). It is
 * what the records of a person begin with, so that a credential of another person is not found with it.
 */
export const userHandleOf = (subject: string): string => hashOpaqueToken(subject)

const isFactorId = (id: string): boolean => /^[\w-]{1,64}$/.test(id)

export interface PersonFactorsOptions {
  readonly store: RecordStore<PersonFactor & { readonly subject: string }>
  readonly clock: Clock
}

export const createPersonFactors = ({ store, clock }: PersonFactorsOptions): PersonFactors => {
  const list = async (subject: string): Promise<readonly Stored[]> =>
    (await listSubjectRecords(store, subject)).toSorted(
      (one, other) => one.kind.localeCompare(other.kind) || one.createdAt - other.createdAt,
    )

  const listPasskeys = async (subject: string) => (await list(subject)).filter(({ kind }) => kind === 'passkey')

  /** Asks `decide` with the factor of this kind, and keeps what it returns. */
  const change = <Kind extends Stored['kind']>(
    subject: string,
    id: string,
    kind: Kind,
    decide: (factor: Extract<Stored, { kind: Kind }>) => Stored | undefined,
  ): Promise<boolean> =>
    store.update<boolean>(subjectRecordId(subject, id), (current) => {
      if (current?.kind !== kind) return { result: false }
      const record = decide(current as Extract<Stored, { kind: Kind }>)
      return record === undefined ? { result: false } : { result: true, write: { record } }
    })

  const remove: PersonFactors['remove'] = async (subject, id) => {
    if (!isFactorId(id)) return undefined
    const found = await store.find(subjectRecordId(subject, id))
    return found && (await store.remove(subjectRecordId(subject, id))) ? found : undefined
  }

  return {
    list,
    async findPasskey(of, credentialId) {
      const handle = 'subject' in of ? userHandleOf(of.subject) : of.userHandle
      if (!/^[\w-]{43}$/.test(handle)) return undefined
      const id = factorId({ kind: 'passkey', credentialId } as Passkey)
      const found = await store.find(`${handle}.${id}`)
      return found?.kind === 'passkey' && found.credentialId === credentialId ? found : undefined
    },
    async addPasskey(subject, passkey) {
      if ((await listPasskeys(subject)).length >= mostPasskeys) return 'full'
      const id = subjectRecordId(subject, factorId(passkey))
      if (!(await store.put(id, { ...passkey, subject }, { onlyIfAbsent: true }))) return 'known'
      // Of those that come at once each looks after its own is there, so that the last one of too many goes in any case.
      if ((await listPasskeys(subject)).length <= mostPasskeys) return 'added'
      await store.remove(id)
      return 'full'
    },
    usePasskey(subject, credentialId, { counter, backedUp }) {
      const id = factorId({ kind: 'passkey', credentialId } as Passkey)
      return change(subject, id, 'passkey', (passkey) => {
        if (passkey.credentialId !== credentialId) return undefined
        const goesUp = counter > passkey.counter || (counter === 0 && passkey.counter === 0)
        return goesUp ? { ...passkey, counter, backedUp, lastUsedAt: epochSeconds(clock) } : undefined
      })
    },
    renamePasskey: async (subject, id, name) =>
      isFactorId(id) && (await change(subject, id, 'passkey', (passkey) => ({ ...passkey, name }))),
    async findTotp(subject) {
      const found = await store.find(subjectRecordId(subject, 'totp'))
      return found?.kind === 'totp' ? found : undefined
    },
    async putTotp(subject, factor) {
      await store.put(subjectRecordId(subject, 'totp'), { ...factor, subject })
    },
    useTotpStep: (subject, sealed, step) =>
      change(subject, 'totp', 'totp', (factor) =>
        factor.sealed === sealed && step > factor.lastStep
          ? { ...factor, lastStep: step, lastUsedAt: epochSeconds(clock) }
          : undefined,
      ),
    async putRecoveryCodes(subject, codes) {
      const hashes = codes.map((code) => hashRecoveryCode(subject, code))
      const record: RecoveryCodes = { kind: 'recovery_codes', hashes, createdAt: epochSeconds(clock) }
      await store.put(subjectRecordId(subject, 'recovery_codes'), { ...record, subject })
    },
    useRecoveryCode(subject, typed) {
      const hash = hashRecoveryCode(subject, typed)
      return change(subject, 'recovery_codes', 'recovery_codes', (codes) => {
        const hashes = codes.hashes.filter((one) => one !== hash)
        return hashes.length < codes.hashes.length ? { ...codes, hashes, lastUsedAt: epochSeconds(clock) } : undefined
      })
    },
    remove,
    async removeAll(subject) {
      const all = await list(subject)
      for (const factor of all) await store.remove(subjectRecordId(subject, factorId(factor)))
      return all
    },
  }
}
