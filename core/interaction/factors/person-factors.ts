import { epochSeconds, type Clock } from '../../clock.js'
import { listSubjectRecords, subjectRecordId } from '../../oauth/subjects/subject-records.js'
import { hashOpaqueToken } from '../../opaque-token.js'
import type { RecordStore } from '../../storage/ports.js'
import type { Passkey, PersonFactor, RecoveryCodes, TotpFactor } from './person-factor.js'
import { hashRecoveryCode } from './recovery-codes.js'

/** The most passkeys that a person may have. */
export const maxPasskeys = 20

/** Every member throws `Unavailable`. */
export interface PersonFactors {
  /** Lists all factors of a person, passkeys first. */
  list(subject: string): Promise<readonly PersonFactor[]>
  /**
   * Finds the passkey with a credential id (base64url) if it belongs to this person, who is given by `subject` or by
   * the user handle that the authenticator sent (base64url). It takes one read.
   */
  findPasskey(
    of: { readonly subject: string } | { readonly userHandle: string },
    credentialId: string,
  ): Promise<OwnedPasskey | undefined>
  /** `known` means that the person already has a passkey with this credential id. */
  addPasskey(subject: string, passkey: Passkey): Promise<'added' | 'known' | 'full'>
  /**
   * Records a sign-in with a passkey, in one atomic step with the check of its counter. Returns false and changes
   * nothing when the counter does not increase (Web Authentication Level 3 §7.2), or the passkey is gone.
   */
  usePasskey(subject: string, credentialId: string, seen: Pick<Passkey, 'counter' | 'backedUp'>): Promise<boolean>
  /** Returns false when there is no passkey with this id. */
  renamePasskey(subject: string, id: string, name: string): Promise<boolean>
  findTotp(subject: string): Promise<TotpFactor | undefined>
  /** Replaces the previous factor. */
  putTotp(subject: string, factor: TotpFactor): Promise<void>
  /**
   * Uses a time step of the secret `sealed`, in one atomic step: of N callers one gets true. Returns false for a step
   * that is not newer than all used ones, and when the secret has been replaced.
   */
  useTotpStep(subject: string, sealed: string, step: number): Promise<boolean>
  /** Replaces the previous codes. */
  putRecoveryCodes(subject: string, codes: readonly string[]): Promise<void>
  /** Uses a code, as it was typed, in one atomic step: of N callers one gets true. */
  useRecoveryCode(subject: string, typed: string): Promise<boolean>
  /** Returns the removed factor, or undefined when there is none with this id. */
  remove(subject: string, id: string): Promise<PersonFactor | undefined>
  /** Removes all factors of a person. Resolves with what was removed. */
  removeAll(subject: string): Promise<readonly PersonFactor[]>
}

export interface OwnedPasskey extends Passkey {
  readonly subject: string
}

/** A factor as it is stored. The id of the record contains only a hash of the subject. */
type Stored = PersonFactor & { readonly subject: string }

/** Returns the id by which forms and commands name a factor of a person. */
export const factorId = (factor: PersonFactor): string =>
  factor.kind === 'passkey' ? `passkey-${hashOpaqueToken(factor.credentialId).slice(0, 22)}` : factor.kind

/**
 * `user.id` of WebAuthn, base64url of 32 bytes. It is a hash, so that it identifies nobody (Web Authentication Level
 * 3 §14.6.1). The record ids of a person begin with it, so that it never finds a credential of another person.
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

  /** Calls `decide` with the factor of this kind, and stores what it returns. */
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
      if ((await listPasskeys(subject)).length >= maxPasskeys) return 'full'
      const id = subjectRecordId(subject, factorId(passkey))
      if (!(await store.put(id, { ...passkey, subject }, { onlyIfAbsent: true }))) return 'known'
      // Each of several concurrent callers counts after its own passkey is stored, so that the last one over the
      // limit is always removed.
      if ((await listPasskeys(subject)).length <= maxPasskeys) return 'added'
      await store.remove(id)
      return 'full'
    },
    usePasskey(subject, credentialId, { counter, backedUp }) {
      const id = factorId({ kind: 'passkey', credentialId } as Passkey)
      return change(subject, id, 'passkey', (passkey) => {
        if (passkey.credentialId !== credentialId) return undefined
        const isIncreasing = counter > passkey.counter || (counter === 0 && passkey.counter === 0)
        return isIncreasing ? { ...passkey, counter, backedUp, lastUsedAt: epochSeconds(clock) } : undefined
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
