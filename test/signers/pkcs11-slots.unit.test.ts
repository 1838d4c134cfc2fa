/** What keys of slots need of a PKCS#11 token: names, listing, attributes; and what an interrupted creation leaves. */
import { createHash } from 'node:crypto'
import { readFileSync, realpathSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { KeyRefused, Unavailable, type SignerProvider } from '../../core/api/signer.js'
import { describeWith } from '../support/services/describe-with.js'
import { doubleOf, type DoubledToken } from '../support/signers/pkcs11-double/double.js'
import { makeToken, openProvider, type SoftToken } from '../support/signers/softhsm/token.js'
import { never, signsRightly } from '../support/signers/softhsm/watched.js'

const create = async (provider: SignerProvider, name: string, alg: 'ES256' | 'RS256' | 'EdDSA' = 'ES256') =>
  (await provider.create?.(name, alg, never)) ?? ''
const find = async (provider: SignerProvider, name: string) => (await provider.find?.(name, never)) ?? []

describeWith(['softhsm2', 'opensc'], 'a key of a slot in a PKCS#11 token', () => {
  let token: SoftToken
  let provider: SignerProvider
  beforeAll(async () => {
    token = await makeToken()
    provider = await openProvider(token, { deadline_ms: 20_000 })
  })
  afterAll(async () => {
    await provider[Symbol.asyncDispose]()
    await token[Symbol.asyncDispose]()
  })

  it.each(['ES256', 'RS256', 'EdDSA'] as const)(
    '%s is found by its label and by its URI, as create returned it',
    async (alg) => {
      expect(await find(provider, `found ${alg}`)).toEqual([])
      const ref = await create(provider, `found ${alg}`, alg)
      expect(await find(provider, `found ${alg}`)).toEqual([ref])
      expect(await find(provider, ref)).toEqual([ref])
      expect(await signsRightly(await provider.open(ref, alg, never))).toBe(true)
    },
  )

  it('of which there are two is found twice, ordered by id, and each opens', async () => {
    await token.makeKey('EC:prime256v1', 'twin', '32')
    await token.makeKey('EC:prime256v1', 'twin', '31')
    const found = await find(provider, 'twin')
    expect(found).toEqual([
      `pkcs11:token=${token.label};object=twin;id=%31;type=private`,
      `pkcs11:token=${token.label};object=twin;id=%32;type=private`,
    ])
    for (const ref of found) expect(await signsRightly(await provider.open(ref, 'ES256', never))).toBe(true)
  })

  it('whose public half is missing is refused, with the command that removes it; then it can be made', async () => {
    await token.makeKey('EC:prime256v1', 'half', '41')
    await token.tool('--delete-object', '--type', 'pubkey', '--id', '41')
    const error = await find(provider, 'half').catch((thrown: unknown) => thrown as Error)
    expect(error).toBeInstanceOf(KeyRefused)
    const [, command = ''] = /remove it: pkcs11-tool (.*)$/.exec(String((error as Error).message)) ?? []
    expect(command).toBe("--delete-object --type privkey --label 'half' --id 41")
    await token.tool(...command.replaceAll("'", '').split(' '))
    expect(await find(provider, 'half')).toEqual([])
    const ref = await create(provider, 'half')
    expect(await find(provider, 'half')).toEqual([ref])
  })

  it('whose private half is missing is no key, and the next one is another pair', async () => {
    await token.makeKey('EC:prime256v1', 'rest', '42')
    await token.tool('--delete-object', '--type', 'privkey', '--id', '42')
    expect(await find(provider, 'rest')).toEqual([])
    const ref = await create(provider, 'rest')
    expect(await find(provider, 'rest')).toEqual([ref])
    expect(await signsRightly(await provider.open(ref, 'ES256', never))).toBe(true)
  })

  it('beside a half of an earlier one is found alone', async () => {
    await token.makeKey('EC:prime256v1', 'beside', '43')
    await token.tool('--delete-object', '--type', 'pubkey', '--id', '43')
    await token.makeKey('EC:prime256v1', 'beside', '44')
    expect(await find(provider, 'beside')).toEqual([`pkcs11:token=${token.label};object=beside;id=%44;type=private`])
  })

  it('is listed by the beginning of its label, among more keys than the token returns at once', async () => {
    for (let count = 0; count < 70; count++) await create(provider, `many-${String(count)}`)
    const listed = (await provider.list?.('many-', 'https://id.example', never)) ?? []
    expect(listed).toHaveLength(70)
    expect(new Set(listed.map(({ name }) => name)).size).toBe(70)
    expect(await provider.list?.('many-69', 'https://id.example', never)).toEqual([
      { ref: (await find(provider, 'many-69'))[0], name: 'many-69' },
    ])
    expect(await provider.list?.('nothing', 'https://id.example', never)).toEqual([])
  })

  it('is in a token that says what it is, behind a library whose file is known by its digest', async () => {
    const sha256 = createHash('sha256').update(readFileSync(token.module)).digest('hex')
    const version = expect.stringMatching(/^\d+\.\d+$/)
    expect(await provider.facts?.(never)).toEqual({
      module: {
        ...{ path: realpathSync(token.module), sha256, manufacturer: 'SoftHSM', version, cryptoki: version },
        description: expect.stringContaining('PKCS11'),
      },
      token: {
        ...{ label: token.label, serial: await token.serial(), model: 'SoftHSM v2' },
        manufacturer: 'SoftHSM project',
      },
      firmware: { hardware: version, firmware: version },
    })
  })

  it('says that it was made in the token and cannot leave it', async () => {
    expect(await provider.inspect?.(await create(provider, 'inspected'), never)).toEqual({
      ...{ sensitive: true, never_extractable: true, local: true, extractable: false },
    })
  })

  it.each([
    ['extractable', ['--extractable'], /CKA_NEVER_EXTRACTABLE of the key is false|CKA_EXTRACTABLE of the key is true/],
  ])('that is %s is refused', async (name, options, why) => {
    await token.tool(
      ...['--keypairgen', '--key-type', 'EC:prime256v1', '--label', name, '--id', '61', '--usage-sign'],
      ...options,
    )
    const error = await provider.inspect?.(`pkcs11:object=${name}`, never).catch((thrown: unknown) => thrown as Error)
    expect(error).toBeInstanceOf(KeyRefused)
    expect((error as Error).message).toMatch(why)
  })
})

describeWith(['softhsm2', 'gcc'], 'the creation of a key in a PKCS#11 token', () => {
  let token: SoftToken
  let double: DoubledToken
  let provider: SignerProvider
  beforeAll(async () => {
    token = await makeToken()
    double = await doubleOf(token)
    provider = await openProvider(double, { deadline_ms: 20_000 })
  })
  afterEach(() => double.heal())
  afterAll(async () => {
    await provider[Symbol.asyncDispose]()
    await token[Symbol.asyncDispose]()
  })

  it.each([
    ['CKR_DEVICE_MEMORY', 'C_GenerateKeyPair return 0x31', /no space for another key pair/],
    ['CKR_SESSION_READ_ONLY', 'C_GenerateKeyPair return 0xb5', /lets this user only read/],
    ['CKR_TOKEN_WRITE_PROTECTED', 'C_GenerateKeyPair return 0xe2', /is write-protected/],
  ])('KR10 %s: refused in words after one attempt, and nothing is there', async (code, command, why) => {
    await double.command(command)
    const before = await double.calls('C_GenerateKeyPair')
    const error = await create(provider, 'full').catch((thrown: unknown) => thrown as Error)
    expect(error).toBeInstanceOf(KeyRefused)
    expect((error as Error).message).toMatch(why)
    expect((error as Error).message).toContain(code)
    expect((await double.calls('C_GenerateKeyPair')) - before).toBe(1)
    await double.heal()
    expect(await find(provider, 'full')).toEqual([])
  })

  it('KR93 a key that the library does not show, but a new process sees, opens in the place of the old process', async () => {
    const signer = await provider.open(await create(provider, 'shown'), 'ES256', never)
    const ref = await create(provider, 'not-shown')
    await double.command('C_FindObjectsInit stale not-shown')
    const started = await double.calls('C_Initialize')
    let isOpen = false
    const opening = provider.open(ref, 'ES256', never).finally(() => (isOpen = true))
    // Signatures go on all the while: none fails.
    let made = 0
    while (!isOpen) {
      expect(await Promise.all(Array.from({ length: 8 }, () => signsRightly(signer)))).not.toContain(false)
      made += 8
    }
    expect(made).toBeGreaterThan(0)
    expect(await signsRightly(await opening)).toBe(true)
    expect(await signsRightly(signer)).toBe(true)
    // One session of the process that looked, and four of the one that took over.
    expect((await double.calls('C_Initialize')) - started).toBe(1 + 4)
  })

  it('KR93 a replacement that cannot start leaves the old process in its place', async () => {
    const signer = await provider.open(await create(provider, 'before'), 'ES256', never)
    const ref = await create(provider, 'unseen')
    await double.command('C_FindObjectsInit stale unseen')
    const opening = provider.open(ref, 'ES256', never)
    const started = await double.calls('C_Initialize')
    await vi.waitUntil(async () => (await double.calls('C_Initialize')) > started, 10_000)
    await double.command('C_OpenSession return 0x05')
    await expect(opening).rejects.toThrow()
    await double.heal()
    expect(await signsRightly(signer)).toBe(true)
    expect(await signsRightly(await provider.open(ref, 'ES256', never))).toBe(true)
  })

  it('KR93 a key that no process sees is refused, and the process goes on', async () => {
    const signer = await provider.open(await create(provider, 'stays'), 'ES256', never)
    const missing = `pkcs11:token=${token.label};object=nowhere;type=private`
    await expect(provider.open(missing, 'ES256', never)).rejects.toThrow(KeyRefused)
    expect(await signsRightly(signer)).toBe(true)
  })

  it('KR93 a key of an interrupted creation is found although the library does not show it', async () => {
    const ref = await create(provider, 'interrupted')
    await double.command('C_FindObjectsInit stale interrupted')
    expect(await find(provider, 'interrupted')).toEqual([])
    const tags = { deployment: 'https://id.example', slot: 'es', kid: 'es-1' }
    expect(await provider.find?.('interrupted', never, tags)).toEqual([ref])
  })

  it.each([
    ['before the token makes the key', 'C_GenerateKeyPair crash once', 0],
    ['after the token has made the key', 'C_GenerateKeyPair die once', 1],
  ])('that is killed %s leaves one key at most, which is found', async (name, command, left) => {
    await double.command(command)
    await expect(create(provider, name)).rejects.toBeInstanceOf(Unavailable)
    await expect.poll(() => find(provider, name).catch(() => undefined), { timeout: 10_000 }).toHaveLength(left)
    const [found] = await find(provider, name)
    const ref = found ?? (await create(provider, name))
    expect(await find(provider, name)).toEqual([ref])
    expect(await signsRightly(await provider.open(ref, 'ES256', never))).toBe(true)
  })

  it('that fails after the key was made is not tried with another template', async () => {
    await double.command('C_GenerateKeyPair after 0x06 once')
    await expect(create(provider, 'late failure')).rejects.toBeInstanceOf(Unavailable)
    await expect.poll(() => find(provider, 'late failure').catch(() => undefined), { timeout: 10_000 }).toHaveLength(1)
  })
})
