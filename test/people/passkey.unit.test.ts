import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FactorSetup, SignInAttempt, SignInMethod } from '../../core/api/index.js'
import type { PasskeyEnrolment } from '../../core/api/internal.js'
import { userHandleOf, type PersonFactors } from '../../core/interaction/factors/person-factors.js'
import passkey from '../../plugins/login/passkey/index.js'
import { flags } from '../support/forge/authenticator-data.js'
import { attemptOf, newChallenge } from '../support/clients/sign-in-attempt.js'
import { SoftwareAuthenticator, type Otherwise } from '../support/clients/software-authenticator.js'
import { openPersonFactors } from '../support/stores/person-factors.js'

type Json = Record<string, unknown>

const origin = 'https://id.bank.example'
const now = 1_800_000_000
let opened: Awaited<ReturnType<typeof openPersonFactors>>
let factors: PersonFactors
beforeAll(async () => {
  opened = await openPersonFactors(() => now * 1000)
  factors = opened.factors
})
afterAll(() => opened[Symbol.asyncDispose]())

const open = async (wanted: Json = {}, issuer = `${origin}/op`) => {
  const options = passkey.options?.['~standard'].validate(wanted) as { readonly value: never }
  const services = { clock: () => now * 1000, issuer, personFactors: factors }
  const { signIn = [], factorEnrolment } = await passkey.create(options.value, services)
  return { method: signIn[0] as SignInMethod, enrolment: factorEnrolment as PasskeyEnrolment }
}

const setupOf = async (subject: string): Promise<FactorSetup> => ({
  ...{ subject, accountName: 'alice', challenge: newChallenge(), factors: await factors.list(subject) },
})

const register = async (subject: string, authenticator: SoftwareAuthenticator, otherwise: Otherwise = {}) => {
  const { enrolment } = await open()
  const setup = await setupOf(subject)
  const answer = authenticator.register(await enrolment.begin(setup), otherwise)
  const made = await enrolment.finish(setup, { answer, name: ' My phone\u0007 ' })
  if (made.outcome === 'made') await factors.addPasskey(subject, made.factor)
  return made
}

const signIn = async (
  authenticator: SoftwareAuthenticator,
  otherwise: Otherwise = {},
  more: Partial<SignInAttempt> = {},
) => {
  const { method } = await open({ acr: 'urn:bank:passkey' })
  const attempt = attemptOf(more)
  const prompt = await method.begin(attempt)
  if (prompt.kind !== 'ceremony') throw new Error(`the prompt is ${prompt.kind}`)
  return method.finish(attempt, { answer: authenticator.signIn(prompt.options, otherwise) })
}

const refusedWith = (why: string) => expect.objectContaining({ outcome: 'refused', why })

describe('a passkey', () => {
  it('is registered for one person, and signs that person in', async () => {
    const authenticator = new SoftwareAuthenticator(origin)
    const { enrolment } = await open({ rp_id: 'bank.example', rp_name: 'Example Bank' })
    const asked = await enrolment.begin(await setupOf('alice'))
    expect(asked).toMatchObject({
      rp: { id: 'bank.example', name: 'Example Bank' },
      user: { id: userHandleOf('alice'), name: 'alice' },
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      attestation: 'none',
    })
    expect(JSON.stringify(asked)).not.toContain('"sub')
    expect(await register('alice', authenticator)).toMatchObject({
      outcome: 'made',
      factor: { name: 'My phone', transports: ['internal'], backupEligible: false, createdAt: now },
    })
    expect(await signIn(authenticator)).toEqual({
      ...{ outcome: 'passed', subject: 'alice', amr: ['hwk', 'user'], acr: 'urn:bank:passkey' },
    })
    expect(await factors.findPasskey({ subject: 'alice' }, authenticator.id)).toMatchObject({ lastUsedAt: now })
    const again = await enrolment.begin(await setupOf('alice'))
    expect(again['excludeCredentials']).toEqual([expect.objectContaining({ id: authenticator.id })])
  })

  it('that can be copied is no key in hardware (RFC 8176)', async () => {
    const authenticator = new SoftwareAuthenticator(origin)
    const synced = flags.present | flags.verified | flags.mayBackUp | 16
    await register('synced', authenticator, { flags: synced })
    expect(await signIn(authenticator, { flags: synced })).toMatchObject({ outcome: 'passed', amr: ['swk', 'user'] })
    expect(await signIn(authenticator)).toEqual(refusedWith('the passkey can be copied now, or cannot any more'))
  })

  const wrong: readonly (readonly [string, Otherwise])[] = [
    ['another origin', { origin: 'https://evil.example' }],
    ['the origin of a sub-domain', { origin: 'https://x.id.bank.example' }],
    ['another RP ID', { rpId: 'evil.example' }],
    ['another challenge', { challenge: newChallenge() }],
    ['no user verification', { flags: flags.present }],
    ['nobody there', { flags: flags.verified }],
    ['a frame of another origin', { crossOrigin: true }],
  ]
  it.each([...wrong, ['a registration', { type: 'webauthn.create' }] as const])(
    'SI54 refuses a sign-in with %s',
    async (_what, otherwise) => {
      const authenticator = new SoftwareAuthenticator(origin)
      await register('bob', authenticator)
      expect(await signIn(authenticator, otherwise)).toEqual(refusedWith('the signature is not right'))
      expect(await factors.findPasskey({ subject: 'bob' }, authenticator.id)).not.toHaveProperty('lastUsedAt')
    },
  )

  it.each([
    ...wrong,
    ['the type of a sign-in', { type: 'webauthn.get' }] as const,
    ['another id', { id: 'b3RoZXI' }] as const,
  ])('SI55 refuses a registration with %s', async (_what, otherwise) => {
    expect(await register('carol', new SoftwareAuthenticator(origin), otherwise)).toMatchObject({ outcome: 'refused' })
    expect(await factors.list('carol')).toEqual([])
  })

  it('SI51 refuses a counter that goes back, and a copy with it', async () => {
    const authenticator = new SoftwareAuthenticator(origin)
    authenticator.counter = 7
    await register('dave', authenticator)
    expect(await signIn(authenticator)).toMatchObject({ outcome: 'passed' })
    expect(await signIn(authenticator, { counter: 8 })).toEqual(refusedWith('the counter went back'))
    expect(await signIn(authenticator, { counter: 0 })).toEqual(refusedWith('the counter went back'))
  })

  it('SI50 refuses the passkey of another person, as first factor and as second', async () => {
    const [erins, franks] = [new SoftwareAuthenticator(origin), new SoftwareAuthenticator(origin)]
    await register('erin', erins)
    await register('frank', franks)
    const unknown = refusedWith('the passkey is unknown')
    expect(await signIn(franks, { userHandle: userHandleOf('erin') })).toEqual(unknown)
    expect(await signIn(franks, { id: erins.id })).toEqual(unknown)
    expect(await signIn(franks, { id: erins.id, userHandle: userHandleOf('erin') })).toEqual(
      refusedWith('the signature is not right'),
    )
    expect(await signIn(franks, { userHandle: null })).toEqual(refusedWith('the passkey does not say whose it is'))
    const passed = { subject: 'erin', amr: ['pwd'] }
    expect(await signIn(franks, {}, { passed })).toEqual(unknown)
    expect(await signIn(erins, { userHandle: null }, { passed })).toMatchObject({ outcome: 'passed', subject: 'erin' })
  })

  it('SI56 asks for no credential while nobody is known, and for those of the person then', async () => {
    const authenticator = new SoftwareAuthenticator(origin)
    await register('grace', authenticator)
    const { method } = await open({ after: ['password'] })
    expect(method.after).toEqual(['password'])
    const unknown = await method.begin(attemptOf())
    expect(unknown).toMatchObject({ kind: 'ceremony', options: { userVerification: 'required' } })
    expect(JSON.stringify(unknown)).not.toContain('allowCredentials')
    const known = await method.begin(attemptOf({ passed: { subject: 'grace', amr: ['pwd'] } }))
    expect(known).toMatchObject({ options: { allowCredentials: [{ id: authenticator.id, type: 'public-key' }] } })
    expect(await method.begin(attemptOf({ passed: { subject: 'nobody', amr: ['pwd'] } }))).toEqual({ kind: 'none' })
  })

  it.each([
    '',
    '{',
    '[]',
    '{"id":"a"}',
    '{"id":"a","response":{}}',
    '{"id":1,"response":{"clientDataJSON":"e30"}}',
    'x'.repeat(20_000),
    `{"id":"a","response":{"clientDataJSON":"e30","authenticatorData":"${'x'.repeat(20_000)}","signature":"e30"}}`,
  ])('SI57 refuses what no browser sends: %.40s', async (answer) => {
    const { method, enrolment } = await open()
    expect(await method.finish(attemptOf(), { answer })).toEqual(refusedWith('the answer is no passkey'))
    expect(await method.finish(attemptOf(), {})).toEqual(refusedWith('the answer is no passkey'))
    expect(await enrolment.finish(await setupOf('x'), { answer })).toEqual(refusedWith('the answer is no registration'))
  })

  it.each([
    ['another domain', { rp_id: 'evil.example' }, origin],
    ['a part of a name', { rp_id: 'ank.example' }, origin],
    ['an address', {}, 'http://127.0.0.1:9000'],
  ])('has no RP ID that is %s', async (_what, wanted, issuer) => {
    await expect(open(wanted, issuer)).rejects.toThrow('rp_id')
  })
})
