import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { KeyRefused, Unavailable, type SignerProvider } from '../../core/api/signer.js'
import { describeWith } from '../support/services/describe-with.js'
import { makeToken, openProvider, type SoftToken } from '../support/signers/softhsm/token.js'
import { newJournal, never, signsRightly } from '../support/signers/softhsm/watched.js'

describeWith(['softhsm2', 'opensc'], 'keys in a PKCS#11 token', () => {
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
  const open = (ref: string, alg: Parameters<SignerProvider['open']>[1] = 'ES256') => provider.open(ref, alg, never)

  it('come with a line for the doctor: what the library sees of the environment', async () => {
    expect(provider.describe?.()).toBe('the library sees only the variables that `environment` names: SOFTHSM2_CONF')
  })

  it('made by other means sign too', async () => {
    await token.makeKey('EC:prime256v1', 'made-p256', '21')
    await token.makeKey('EC:secp384r1', 'made-p384', '22')
    await token.makeKey('rsa:3072', 'made-rsa', '23')
    await token.makeKey('EC:edwards25519', 'made-ed25519', '24')
    expect(await signsRightly(await open('pkcs11:object=made-p256'))).toBe(true)
    expect(await signsRightly(await open('pkcs11:id=%22;type=private', 'ES384'))).toBe(true)
    expect(await signsRightly(await open(`pkcs11:token=${token.label};object=made-rsa;id=%23`, 'PS256'))).toBe(true)
    expect(await signsRightly(await open('pkcs11:object=made-ed25519', 'EdDSA'))).toBe(true)
  })

  it('made by the signer cannot leave the token, and do nothing but sign', async () => {
    const ref = (await provider.create?.('made here', 'ES256', never)) ?? ''
    expect(ref).toMatch(/^pkcs11:token=token-\w+;object=made%20here;id=(%[0-9a-f]{2}){8};type=private$/)
    expect(await signsRightly(await open(ref))).toBe(true)
    const shown = await token.tool('--list-objects', '--type', 'privkey', '--label', 'made here')
    const [, ours = ''] = shown.split('label:      made here')
    expect(ours).toMatch(/Usage: {6}sign\n/)
    expect(ours).toMatch(/Access: {5}sensitive, always sensitive, never extractable, local/)
    await expect(provider.create?.('made here', 'ES256', never)).rejects.toThrow(
      'the token already has a private key with the label made here',
    )
  })

  it('two with one label are refused, with their number; the id tells them apart', async () => {
    await token.makeKey('EC:prime256v1', 'twin', '31')
    await token.makeKey('EC:prime256v1', 'twin', '32')
    await expect(open('pkcs11:object=twin')).rejects.toThrow(
      'pkcs11:object=twin: 2 private keys match; exactly one must',
    )
    await expect(open('pkcs11:object=twin')).rejects.toBeInstanceOf(KeyRefused)
    expect(await signsRightly(await open('pkcs11:object=twin;id=%31'))).toBe(true)
  })

  it('one that may not sign is refused', async () => {
    await token.makeKey('EC:prime256v1', 'unsigned', '41')
    token.forbidSigning('unsigned')
    await expect(open('pkcs11:object=unsigned')).rejects.toThrow('its attribute CKA_SIGN is false')
  })

  it('one without its public half is refused', async () => {
    await token.makeKey('EC:prime256v1', 'half', '42')
    await token.tool('--delete-object', '--type', 'pubkey', '--id', '42')
    await expect(open('pkcs11:object=half')).rejects.toThrow(
      'the token has no public key object with the id or label of the private key: write one',
    )
  })

  const set = (type: 'privkey' | 'pubkey', id: string, label: string, to: string) =>
    token.tool('--type', type, '--id', id, '--label', label, '--set-id', to)

  it('two pairs with one id are distinguished by their labels', async () => {
    await token.makeKey('EC:prime256v1', 'first of one id', '51')
    await token.makeKey('EC:prime256v1', 'second of one id', '51')
    const [first, second] = [
      await open('pkcs11:object=first%20of%20one%20id'),
      await open('pkcs11:object=second%20of%20one%20id'),
    ]
    expect(first.publicJwk).not.toEqual(second.publicJwk)
    expect([await signsRightly(first), await signsRightly(second)]).toEqual([true, true])
    await expect(open('pkcs11:id=%51')).rejects.toThrow(
      '2 private keys match; exactly one must (name its label too, as object)',
    )
  })

  it('two pairs with one id and one label cannot be told apart, and it says what helps', async () => {
    await token.makeKey('EC:prime256v1', 'same', '52')
    await token.makeKey('EC:prime256v1', 'same', '52')
    await expect(open('pkcs11:object=same;id=%52')).rejects.toThrow(
      '2 private keys match; exactly one must (give each key pair a CKA_ID of its own)',
    )
  })

  it('one private key of which two public ones have id and label says what helps', async () => {
    await token.makeKey('EC:prime256v1', 'two publics', '53')
    await token.makeKey('EC:prime256v1', 'two publics', '53')
    await token.tool('--delete-object', '--type', 'privkey', '--id', '53')
    await expect(open('pkcs11:object=two%20publics')).rejects.toThrow(
      '2 public keys have the id or label of the private key, and their labels do not tell which is its own',
    )
  })

  it('its public half has no id: the label finds it', async () => {
    await token.makeKey('EC:prime256v1', 'half an id', '54')
    await set('pubkey', '54', 'half an id', '')
    expect(await token.tool('--list-objects', '--type', 'pubkey', '--label', 'half an id')).not.toMatch(/ID: +54/)
    expect(await signsRightly(await open('pkcs11:object=half%20an%20id'))).toBe(true)
  })

  it('its private half has no id: the label finds the public one', async () => {
    await token.makeKey('EC:prime256v1', 'other half', '55')
    await set('privkey', '55', 'other half', '')
    expect(await token.tool('--list-objects', '--type', 'privkey', '--label', 'other half')).not.toMatch(/ID: +55/)
    expect(await signsRightly(await open('pkcs11:object=other%20half'))).toBe(true)
  })

  it('a public key with its label and another id is not its public half', async () => {
    await token.makeKey('EC:prime256v1', 'stranger', '56')
    await set('pubkey', '56', 'stranger', '57')
    await expect(open('pkcs11:object=stranger')).rejects.toThrow('the token has no public key object')
  })

  it('one of another type or curve is refused, in words', async () => {
    await expect(open('pkcs11:object=made-rsa')).rejects.toThrow('the key is not of type P-256, which ES256 needs')
    await expect(open('pkcs11:object=made-p256', 'ES384')).rejects.toThrow('not on the curve P-384, which ES384 needs')
    await token.makeKey('EC:secp256k1', 'other-curve', '43')
    await expect(open('pkcs11:object=other-curve')).rejects.toThrow('not on the curve P-256')
    await token.makeKey('rsa:1024', 'short', '44')
    await expect(open('pkcs11:object=short', 'RS256')).rejects.toThrow('The RSA modulus must have 2048 to 4096 bits.')
  })

  it('another token than the configured one is refused', async () => {
    await expect(open('pkcs11:token=other;object=made-p256')).rejects.toThrow('names a token other than')
    await expect(open('pkcs11:serial=0;object=made-p256')).rejects.toThrow('the serial of the token is not the one')
  })

  it('a signature names its session and is counted', async () => {
    const signer = await open('pkcs11:object=made-p256')
    const traces = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const trace: { reference?: string } = {}
        await signer.sign(Buffer.from('a'), never, trace)
        return trace.reference
      }),
    )
    expect(new Set(traces).size).toBe(50)
    for (const trace of traces) expect(trace).toMatch(/^\d+\.\d+:\d+$/)
  })
})

describeWith('softhsm2', 'the configuration of a PKCS#11 signer', () => {
  let token: SoftToken
  const providers: SignerProvider[] = []
  beforeAll(async () => {
    token = await makeToken()
  })
  afterEach(async () => {
    for (const provider of providers.splice(0)) await provider[Symbol.asyncDispose]()
  })
  afterAll(() => token[Symbol.asyncDispose]())

  const refusal = async (changes: object, options = {}): Promise<Error> => {
    const provider = await openProvider({ ...token, ...changes }, options)
    providers.push(provider)
    return provider.open('pkcs11:object=a', 'ES256', never).then(
      () => new Error('was opened'),
      (error: unknown) => error as Error,
    )
  }

  it.each([
    ['/no/such/library.so', 'cannot open shared object file'],
    ['/etc/passwd', '/etc/passwd cannot be loaded as a PKCS#11 library'],
    ['/bin/true', '/bin/true cannot be loaded as a PKCS#11 library'],
  ])('the module %s is refused with a reason', async (module, why) => {
    const error = await refusal({ module })
    expect(error.message).toContain(why)
    expect(error).toBeInstanceOf(KeyRefused)
  })

  it('a token that is not there may come: unavailable, and the error names what is there', async () => {
    const error = await refusal({ label: 'nobody' })
    expect(error.message).toBe(`no token matches token nobody; present: ${token.label}`)
    expect(error).toBeInstanceOf(Unavailable)
  })

  it('the token may be chosen by its serial number', async () => {
    const serial = await token.serial()
    expect(serial).not.toBe('')
    expect((await refusal({ label: `pkcs11:serial=${serial}` })).message).toContain('no private key matches')
  })

  it.each([
    [{ module: 'libsofthsm2.so' }, 'must be the absolute path'],
    [{ pin: '' }, 'expected string to have >=1 characters'],
    [{ label: 'pkcs11:object=a' }, 'object belongs to a key'],
  ])('%j does not pass the schema', async (changes, why) => {
    await expect(openProvider({ ...token, ...changes })).rejects.toThrow(why)
  })

  it('nothing secret is in the arguments or the environment of the child', async () => {
    process.env['SIGNET_TEST_HSM_PIN'] = token.pin
    const journal = newJournal()
    const provider = await openProvider(token, {}, journal)
    providers.push(provider)
    await provider.ping(never)
    delete process.env['SIGNET_TEST_HSM_PIN']
    const [pid] = journal.pids
    const visible = await Promise.all(['cmdline', 'environ'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8')))
    expect(visible.join('')).toContain('SOFTHSM2_CONF')
    expect(visible.join('')).not.toContain(token.pin)
    expect(journal.lines.join('')).not.toContain(token.pin)
  })

  it('a child that was closed is gone', async () => {
    const journal = newJournal()
    const provider = await openProvider(token, {}, journal)
    await provider.ping(never)
    await provider[Symbol.asyncDispose]()
    expect(() => process.kill(journal.pids[0] ?? 0, 0)).toThrow('ESRCH')
    await expect(provider.ping(never)).rejects.toBeInstanceOf(Unavailable)
  })

  describe('without a child', () => {
    it('a URI is judged before anything is started', async () => {
      const error = await openProvider(token).then((provider) => provider.open('a-label', 'ES256', never).catch(String))
      expect(error).toContain('does not begin with pkcs11:')
    })
  })
})
