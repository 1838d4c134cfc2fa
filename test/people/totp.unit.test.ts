import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FactorSetup, SignInAttempt, SignInMethod } from '../../core/api/index.js'
import type { TotpEnrolment } from '../../core/api/internal.js'
import type { PersonFactors } from '../../core/interaction/factors/person-factors.js'
import { newRecoveryCodes } from '../../core/interaction/factors/recovery-codes.js'
import { oneTimePassword, stepSeconds } from '../../core/totp/one-time-password.js'
import totp from '../../plugins/login/totp/index.js'
import { attemptOf as newAttempt } from '../support/clients/sign-in-attempt.js'
import { fromBase32 } from '../support/clients/second-factor.js'
import { openPersonFactors } from '../support/stores/person-factors.js'

let now = 1_800_000_000
let opened: Awaited<ReturnType<typeof openPersonFactors>>
let factors: PersonFactors
beforeAll(async () => {
  opened = await openPersonFactors(() => now * 1000)
  factors = opened.factors
})
afterAll(() => opened[Symbol.asyncDispose]())

const open = async () => {
  const options = totp.options?.['~standard'].validate({ sealing_key: 'A'.repeat(43) }) as { readonly value: never }
  const services = { clock: () => now * 1000, issuer: 'https://id.bank.example', personFactors: factors }
  const { signIn = [], factorEnrolment } = await totp.create(options.value, services)
  return { method: signIn[0] as SignInMethod, enrolment: factorEnrolment as TotpEnrolment }
}

const attemptOf = (subject?: string): SignInAttempt =>
  newAttempt(subject === undefined ? {} : { passed: { subject, amr: ['pwd'] } })

const setupOf = (subject: string, challenge = 'session'): FactorSetup => ({
  ...{ subject, accountName: `${subject}:x`, challenge, factors: [] },
})

const codeOf = (secret: string, steps = 0): string =>
  oneTimePassword(fromBase32(secret), Math.floor(now / stepSeconds) + steps, { algorithm: 'SHA1', digits: 6 })

/** Sets an app up for somebody; its secret. */
const setUp = async (subject: string): Promise<string> => {
  const { enrolment } = await open()
  const { secret, setup, uri } = await enrolment.begin(setupOf(subject))
  expect(uri).toContain(`otpauth://totp/id.bank.example:${subject}.x?`)
  const made = await enrolment.finish(setupOf(subject), { setup, code: codeOf(secret) })
  if (made.outcome !== 'made') throw new Error(made.why)
  await factors.putTotp(subject, made.factor)
  return secret
}

describe('one-time passwords as a second factor', () => {
  it('are required after the password from people who have set them up', async () => {
    const { method } = await open()
    await setUp('alice')
    expect(method).toMatchObject({ id: 'totp', kind: 'form', amr: ['otp'], after: ['password'] })
    expect(await method.begin(attemptOf('alice'))).toEqual({ kind: 'form', fields: 'code', recoveryCodes: true })
    expect(await method.begin(attemptOf('nobody'))).toEqual({ kind: 'none' })
    expect(await method.finish(attemptOf(), { code: '123456' })).toMatchObject({ outcome: 'refused' })
  })

  it('SI53 pass once each, in parallel too; that of the setup has passed', async () => {
    const { method } = await open()
    const secret = await setUp('bob')
    const finish = (code: string) => method.finish(attemptOf('bob'), { code })
    expect(await finish(codeOf(secret))).toMatchObject({ outcome: 'refused', subject: 'bob' })
    now += stepSeconds
    const code = codeOf(secret)
    const results = await Promise.all([code, ` ${code.slice(0, 3)} ${code.slice(3)}`, code].map(finish))
    expect(results.filter(({ outcome }) => outcome === 'passed')).toEqual([
      { outcome: 'passed', subject: 'bob', amr: ['otp'] },
    ])
    expect(await finish(codeOf(secret, -1))).toMatchObject({ outcome: 'refused' })
    expect(await finish(codeOf(secret, 2))).toMatchObject({ outcome: 'refused' })
    expect(await finish(codeOf(secret, 1))).toMatchObject({ outcome: 'passed' })
  })

  it('SI59 are of one person, and the secret is sealed for that person', async () => {
    const { method } = await open()
    const [carols] = [await setUp('carol'), await setUp('dave')]
    now += stepSeconds
    expect(await method.finish(attemptOf('dave'), { code: codeOf(carols) })).toMatchObject({ outcome: 'refused' })
    const stored = await factors.findTotp('carol')
    expect(JSON.stringify(stored)).not.toContain(carols)
    await factors.putTotp('dave', stored!)
    await expect(method.finish(attemptOf('dave'), { code: codeOf(carols) })).rejects.toThrow('does not open')
  })

  it('SI52 are replaced by recovery codes, once each', async () => {
    const { method } = await open()
    await setUp('erin')
    const [code = '', ...others] = newRecoveryCodes()
    await factors.putRecoveryCodes('erin', [code, ...others])
    const results = await Promise.all([code, code].map((one) => method.finish(attemptOf('erin'), { code: one })))
    expect(results.map(({ outcome }) => outcome).toSorted()).toEqual(['passed', 'refused'])
    expect(await method.finish(attemptOf('erin'), { code: others[0]!.toUpperCase() })).toMatchObject({
      outcome: 'passed',
    })
    await factors.remove('erin', 'totp')
    expect(await method.finish(attemptOf('erin'), { code: others[1]! })).toMatchObject({ outcome: 'refused' })
  })

  it.each([
    ['a setup of another person', { ...setupOf('grace'), subject: 'heidi' }],
    ['a setup of another session', setupOf('grace', 'another')],
  ])('SI59 take no %s', async (_what, setup) => {
    const { enrolment } = await open()
    const { secret, setup: sealed } = await enrolment.begin(setupOf('grace'))
    const answer = { setup: sealed, code: codeOf(secret) }
    expect(await enrolment.finish(setup, answer)).toMatchObject({
      outcome: 'refused',
      why: expect.stringContaining('page'),
    })
    expect(await enrolment.finish(setupOf('grace'), { ...answer, code: '' })).toMatchObject({ outcome: 'refused' })
    expect(await enrolment.finish(setupOf('grace'), {})).toMatchObject({ outcome: 'refused' })
  })
})
