import { createPublicKey, verify } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { KeyRefused, type SignerProvider } from '../../core/api/signer.js'
import { describeWith } from '../support/services/describe-with.js'
import { doubleOf, type DoubledToken } from '../support/signers/pkcs11-double/double.js'
import { makeToken, openProvider, type SoftToken } from '../support/signers/softhsm/token.js'
import { never, newJournal, signsRightly, type Journal } from '../support/signers/softhsm/watched.js'

// Tokens that have less than SoftHSM: fewer sessions, fewer mechanisms, another idea of templates, no patience with parameters.

describeWith(['softhsm2', 'gcc'], 'a token that has less than another', () => {
  let token: SoftToken
  let double: DoubledToken
  let journal: Journal
  const providers: SignerProvider[] = []
  beforeAll(async () => {
    token = await makeToken()
  })
  beforeEach(async () => {
    double = await doubleOf(token)
    journal = newJournal()
  })
  afterEach(async () => {
    await double.heal()
    for (const provider of providers.splice(0)) await provider[Symbol.asyncDispose]()
  })
  afterAll(() => token[Symbol.asyncDispose]())

  const open = async (options = {}): Promise<SignerProvider> => {
    const provider = await openProvider(double, options, journal)
    providers.push(provider)
    return provider
  }
  const create = async (provider: SignerProvider, label: string, alg: 'ES256' | 'RS256' | 'RS384' | 'RS512') =>
    (await provider.create?.(label, alg, never)) ?? ''
  const said = (text: string) => journal.lines.filter((line) => line.includes(text))

  it('signs with the sessions there are, warns once, and uses the others when the token grants them', async () => {
    await double.command('C_OpenSession limit 2')
    const provider = await open({ sessions: 4 })
    const signer = await provider.open(await create(provider, 'few', 'ES256'), 'ES256', never)
    expect(await Promise.all(Array.from({ length: 40 }, () => signsRightly(signer)))).not.toContain(false)
    const [warning, ...more] = said('fewer sessions than the option `sessions`')
    expect(warning).toMatch(/"sessions":2,"asked_for":4,"reason":".*C_OpenSession: CKR_SESSION_COUNT"/)
    expect(more).toEqual([])
    await double.heal()
    await expect.poll(() => said('"sessions":4,"asked_for":4').length, { timeout: 30_000 }).toBe(1)
    expect(await Promise.all(Array.from({ length: 40 }, () => signsRightly(signer)))).not.toContain(false)
    expect(journal.pids).toHaveLength(1)
    expect(await double.calls('C_Login')).toBe(1)
  })

  it('makes a key within the sessions that it has', async () => {
    await double.command('C_OpenSession limit 2')
    const provider = await open({ sessions: 2 })
    const signer = await provider.open(await create(provider, 'within', 'ES256'), 'ES256', never)
    expect(await signsRightly(signer)).toBe(true)
    expect(journal.pids).toHaveLength(1)
  })

  it('makes a key in the only session', async () => {
    await double.command('C_OpenSession limit 1')
    const provider = await open({ sessions: 1 })
    const signer = await provider.open(await create(provider, 'alone', 'ES256'), 'ES256', never)
    expect(await signsRightly(signer)).toBe(true)
  })

  it.each([
    ['RS256', '0x40', 'sha256'],
    ['RS384', '0x41', 'sha384'],
    ['RS512', '0x42', 'sha512'],
  ] as const)('signs %s by CKM_RSA_PKCS where it cannot hash', async (alg, mechanism, hash) => {
    await double.command(`C_GetMechanismInfo without ${mechanism}`)
    const provider = await open()
    const signer = await provider.open(await create(provider, `bare ${alg}`, alg), alg, never)
    const message = Buffer.from('message')
    const key = createPublicKey({ key: { ...signer.publicJwk }, format: 'jwk' })
    expect(verify(hash, message, key, await signer.sign(message, never))).toBe(true)
  })

  it('names the mechanism that is missing, when a key is made and when one is opened', async () => {
    const ref = await create(await open(), 'curve', 'ES256')
    await double.command('C_GetMechanismInfo without 0x1041')
    const provider = await open()
    await expect(provider.open(ref, 'ES256', never)).rejects.toThrow('the token has no CKM_ECDSA, which ES256 needs')
    await expect(create(provider, 'no curve', 'ES256')).rejects.toThrow('the token has no CKM_ECDSA')
    await double.command('C_GetMechanismInfo without 0x1040')
    await expect(create(provider, 'no curve', 'ES256')).rejects.toThrow('the token has no CKM_EC_KEY_PAIR_GEN')
    expect(await double.calls('C_GenerateKeyPair')).toBe(1)
    expect(journal.pids).toHaveLength(2)
  })

  it.each([0x05, 0x13, 0xd1, 0x12])(
    'that answers %i to forbidden uses makes the key, and they are named',
    async (code) => {
      await double.command(`C_GenerateKeyPair uses ${code}`)
      const provider = await open()
      const signer = await provider.open(await create(provider, `uses ${code}`, 'ES256'), 'ES256', never)
      expect(await signsRightly(signer)).toBe(true)
      expect(said('The token left other uses on for the new key.')).toEqual([
        expect.stringMatching(/"uses":"CKA_DECRYPT, CKA_UNWRAP(, CKA_DERIVE)?"/),
      ])
      expect(journal.pids).toHaveLength(1)
    },
  )

  it('that takes no template is refused by name, in the same process', async () => {
    await double.command('C_GenerateKeyPair return 0xd0')
    const provider = await open()
    await expect(create(provider, 'none', 'ES256')).rejects.toThrow('C_GenerateKeyPair: CKR_TEMPLATE_INCOMPLETE')
    await double.heal()
    await create(provider, 'none', 'ES256')
    expect(journal.pids).toHaveLength(1)
  })

  it.each([
    ['CKR_ARGUMENTS_BAD', 0x07],
    ['CKR_CANT_LOCK', 0x0a],
  ])('whose library answers %s to C_Initialize is refused for good', async (name, code) => {
    await double.command(`C_Initialize return ${code}`)
    const provider = await open()
    await expect(provider.ping(never)).rejects.toThrow(`C_Initialize: ${name}`)
    await double.heal()
    await expect(provider.ping(never)).rejects.toBeInstanceOf(KeyRefused)
    expect(provider.refusal).toContain(name)
    expect(await double.calls('C_Initialize')).toBe(1)
  })

  it('that stays away is logged once', async () => {
    await double.command('C_Initialize return 0xe0')
    const provider = await open()
    await expect(provider.ping(never)).rejects.toThrow('CKR_TOKEN_NOT_PRESENT')
    const warnings: string[] = []
    const warn = journal.warn.bind(journal)
    journal.warn = (message, fields) => {
      warnings.push(message)
      warn(message, fields)
    }
    await expect.poll(() => double.calls('C_Initialize'), { timeout: 30_000 }).toBeGreaterThan(3)
    expect(warnings).toEqual([])
    await double.heal()
    await expect.poll(() => journal.pids.length, { timeout: 30_000 }).toBe(1)
  })

  it.each([1, 4])('hears of the end: C_Finalize after the last of %i sessions is closed', async (sessions) => {
    const provider = await open({ sessions })
    await provider.ping(never)
    await provider[Symbol.asyncDispose]()
    expect(await double.calls('C_Finalize')).toBe(1)
  })

  it('that hangs in C_Finalize keeps nobody', async () => {
    await double.command('C_Finalize sleep 60')
    const provider = await open()
    await provider.ping(never)
    await provider[Symbol.asyncDispose]()
    expect(await double.calls('C_Finalize')).toBe(1)
  })
})
