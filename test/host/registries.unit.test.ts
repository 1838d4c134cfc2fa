import { decodeJwt } from 'jose'
import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../../config/problems.js'
import { canonicalUsername } from '../../core/interaction/username.js'
import type { LoadedPlugin, LoadedSigner } from '../../core/modules/load-modules.js'
import type { PluginModule, Services, SignerModule } from '../../core/modules/contract.js'
import { createRegistries, createSignerProviders } from '../../core/modules/registries.js'
import type { SignInMethod } from '../../core/interaction/sign-in-method.js'
import { Unavailable } from '../../core/unavailable.js'
import { noLog } from '../../core/observe/log.js'

/** A service that is recognised by looking. */
const services = { log: noLog, clock: () => 0, issuer: { service: 'issuer' } } as unknown as Services

const mask = (message: string) => message.replaceAll('s3cret', '[secret]')

const plugin = (index: number, module: Partial<PluginModule>): LoadedPlugin => ({
  path: `plugins[${String(index)}]`,
  module: { name: `plugin-${String(index)}`, apiVersion: 1, create: () => ({}), ...module },
  options: undefined,
  mask,
})

const grant = (grantType: string) => ({ grantType, handle: () => Promise.reject(new Error('unused')) })
const method = (name: string) => ({ method: name, detect: () => undefined, authenticate: async () => ({}) })
const signInMethod = (id: string): SignInMethod => ({
  ...{ id, kind: 'form', amr: ['pwd'] },
  begin: async () => ({ kind: 'form', fields: 'password' }),
  finish: async () => ({ outcome: 'refused' }),
})
const accounts = { find: async () => undefined }
const consent = { id: 'own', begin: async () => '', finish: async () => ({ outcome: 'pending' as const }) }
const passwordChange = async () => ({ outcome: 'refused' as const })

const failure = async (action: Promise<unknown>): Promise<unknown> =>
  action.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  )

describe('registries', () => {
  it('hold what the plugins provide, in immutable maps', async () => {
    const registries = await createRegistries(
      [
        plugin(0, { create: () => ({ grants: [grant('a'), grant('urn:b')] }) }),
        plugin(1, {
          create: async () => ({
            clientAuthenticators: [method('none')],
            signIn: [signInMethod('one')],
            accounts,
            passwordChange,
          }),
        }),
      ],
      services,
    )
    expect([...registries.grants.keys()]).toEqual(['a', 'urn:b'])
    expect(registries.clientAuthenticators.get('none')?.method).toBe('none')
    expect([...registries.signIn.keys()]).toEqual(['one'])
    expect(registries).toMatchObject({ accounts, passwordChange })
    for (const name of ['__proto__', 'constructor', 'toString', 'set'])
      expect(registries.grants.get(name)).toBeUndefined()
    const open = registries.grants as Map<string, unknown>
    expect(() => open.set('c', {})).toThrow(TypeError)
    expect(() => open.delete('a')).toThrow(TypeError)
    expect(() => open.clear()).toThrow(TypeError)
    expect(() => Object.assign(registries, { accounts: undefined })).toThrow(TypeError)
    expect(registries.grants.size).toBe(2)
  })

  it('give a plugin the services that it needs and no others', async () => {
    const given: unknown[] = []
    const create = (_options: unknown, own: unknown) => (given.push(own), {})
    await createRegistries([plugin(0, { create }), plugin(1, { needs: ['issuer', 'log'], create })], services)
    expect(given).toEqual([{}, { issuer: { service: 'issuer' }, log: expect.anything() }])
    expect(given.every((own) => Object.isFrozen(own))).toBe(true)
  })

  it('refuse what two plugins provide, name both, and report every such case', async () => {
    const error = await failure(
      createRegistries(
        [
          plugin(0, { create: () => ({ grants: [grant('a')], signIn: [signInMethod('one')], passwordChange }) }),
          plugin(1, {
            create: () => ({ grants: [grant('a')], clientAuthenticators: [method('m'), method('m')], consent }),
          }),
          plugin(2, {
            create: () => ({ signIn: [signInMethod('two'), signInMethod('one')], passwordChange, consent }),
          }),
        ],
        services,
      ),
    )
    expect(error).toBeInstanceOf(ConfigurationError)
    expect((error as ConfigurationError).problems).toEqual([
      { path: 'plugins[1]', message: 'plugin-1 provides the grant a, which plugin-0 (plugins[0]) provides already' },
      {
        path: 'plugins[1]',
        message: 'plugin-1 provides the client authentication method m, which plugin-1 (plugins[1]) provides already',
      },
      {
        path: 'plugins[2]',
        message: 'plugin-2 provides the sign-in method one, which plugin-0 (plugins[0]) provides already',
      },
      {
        path: 'plugins[2]',
        message: 'plugin-2 provides the page for consent, which plugin-1 (plugins[1]) provides already',
      },
      {
        path: 'plugins[2]',
        message: 'plugin-2 provides the change of passwords decision, which plugin-0 (plugins[0]) provides already',
      },
    ])
  })

  it.each([
    [undefined, /no contributions/],
    [{ grant: [] }, /create returned grant, which is not a contribution; did you mean `grants`\?/],
    [{ nothing: [] }, /create returned nothing, which is not a contribution$/],
    [{ grants: [{ grantType: 'a' }] }, /without grantType or handle/],
    [{ grants: [{ ...grant('a b') }] }, /whose grantType is neither a name nor a URI/],
    [{ grants: [{ ...grant('a'), params: {} }] }, /params that are not a Standard Schema/],
    [{ grants: [{ ...grant('a'), clientAuthentication: 'confidentail' }] }, /did you mean `confidential`\?/],
    [{ grants: [{ ...grant('a'), clientAuthentication: [] }] }, /neither `confidential` nor a list of methods$/],
    [{ grants: [{ ...grant('a'), clientAuthentification: 'confidential' }] }, /did you mean `clientAuthentication`\?/],
    [{ clientAuthenticators: [{ method: 'a' }] }, /without method, detect or authenticate/],
    [
      { grants: [{ ...grant('a'), clientAuthentication: ['none', 7] }] },
      /neither `confidential` nor a list of methods$/,
    ],
    [{ login: { find: accounts.find } }, /"Moving a plugin from the old port" in docs\/sign-in\.md$/],
    [{ accounts: {} }, /accounts without find/],
    [{ consent: { begin() {} } }, /consent without id, begin or finish/],
    [{ passwordChange: {} }, /passwordChange that is no function/],
    [{ passwordReset: passwordChange }, /passwordReset without a passwordChange/],
    [{ signIn: [{ id: 'a', kind: 'form', amr: [] }] }, /sign-in method without begin or finish/],
    [{ signIn: [signInMethod('A b')] }, /whose id is not a name/],
    [{ signIn: [{ ...signInMethod('a'), kind: 'page' }] }, /whose kind is none of form, ceremony, redirect/],
    [{ signIn: [{ ...signInMethod('a'), amr: 'pwd' }] }, /without amr/],
    [{ signIn: [{ ...signInMethod('a'), after: 'password' }] }, /whose after is no list/],
    [{ secondFactors: [{ kind: 'otp' }] }, /second factor without kind or verify/],
    [{ secondFactors: [{ verify: () => undefined }] }, /second factor without kind or verify/],
    [{ statusProvider: {} }, /status provider without current/],
  ])('refuse %j', async (contributions, message) => {
    const error = await failure(createRegistries([plugin(0, { create: () => contributions as object })], services))
    expect((error as ConfigurationError).problems).toEqual([
      { path: 'plugins[0]', message: expect.stringMatching(message) },
    ])
  })

  it('accept a grant with members of its own', async () => {
    const own = { ...grant('a'), cache: new Map(), loans: 7 }
    await using registries = await createRegistries([plugin(0, { create: () => ({ grants: [own] }) })], services)
    expect(registries.grants.get('a')).toBe(own)
  })

  it.each<[string, () => unknown, RegExp]>([
    [
      'the product',
      () => canonicalUsername(undefined as never),
      / \(test\/host\/registries\.unit\.test\.ts:\d+:\d+\)$/,
    ],
    ['a package', () => decodeJwt('x'), / \(test\/host\/registries\.unit\.test\.ts:\d+:\d+\)$/],
    ['what is no error', () => AbortSignal.abort('s3cret').throwIfAborted(), /^could not be created: unknown error$/],
  ])('name the line of the author when %s throws', async (_what, fail, message) => {
    const create = () => (fail(), {})
    const error = await failure(createRegistries([plugin(0, { create })], services))
    expect((error as ConfigurationError).problems[0]?.message).toMatch(message)
  })

  const closing = (order: string[], name: string) => () => ({ close: () => void order.push(name) })

  it('close in reverse, once', async () => {
    const order: string[] = []
    const registries = await createRegistries(
      ['a', 'b', 'c'].map((name, index) => plugin(index, { create: closing(order, name) })),
      services,
    )
    await registries[Symbol.asyncDispose]()
    await registries[Symbol.asyncDispose]()
    expect(order).toEqual(['c', 'b', 'a'])
  })

  it('one that fails to close does not keep others open', async () => {
    const order: string[] = []
    const failing = () => ({ close: () => Promise.reject(new Error('stuck')) })
    const registries = await createRegistries(
      [
        plugin(0, { create: closing(order, 'a') }),
        plugin(1, { create: failing }),
        plugin(2, { create: closing(order, 'c') }),
      ],
      services,
    )
    await expect(registries[Symbol.asyncDispose]()).rejects.toThrow(AggregateError)
    expect(order).toEqual(['c', 'a'])
  })

  it('when a create throws, all others are closed and no secret is disclosed', async () => {
    const order: string[] = []
    const throwing = () => {
      throw new Error('cannot use s3cret')
    }
    const error = await failure(
      createRegistries(
        [
          plugin(0, { create: closing(order, 'a') }),
          plugin(1, { create: throwing }),
          plugin(2, { create: closing(order, 'c') }),
        ],
        services,
      ),
    )
    expect((error as ConfigurationError).problems).toEqual([
      {
        path: 'plugins[1]',
        message: expect.stringMatching(
          /^could not be created: cannot use \[secret\] \(test\/host\/registries\.unit\.test\.ts:\d+:\d+\)$/,
        ),
        stack: expect.stringContaining('cannot use [secret]'),
      },
    ])
    expect(order).toEqual(['c', 'a'])
  })

  it('an outage is not reported as a configuration mistake', async () => {
    const order: string[] = []
    const down = () => Promise.reject(new Unavailable('plugins.x', 'no', 'down'))
    const error = await failure(
      createRegistries([plugin(0, { create: closing(order, 'a') }), plugin(1, { create: down })], services),
    )
    expect(error).toBeInstanceOf(Unavailable)
    expect(order).toEqual(['a'])
  })
})

describe('signer providers', () => {
  const signer = (path: string, module: Partial<SignerModule>): LoadedSigner => ({
    path,
    module: {
      name: path,
      apiVersion: 1,
      create: () => Promise.reject(new Error('broken')),
      ...module,
    },
    options: { directory: 'x' },
    mask,
  })
  const provider = (order: string[], name: string) => ({
    open: () => Promise.reject(new Error('unused')),
    ping: async () => {},
    [Symbol.asyncDispose]: async () => void order.push(name),
  })

  it('are created with options, clock and log, and closed in reverse', async () => {
    const order: string[] = []
    const seen: unknown[] = []
    const create = (name: string) => (options: unknown, own: object) => {
      seen.push([options, Object.keys(own)])
      return provider(order, name)
    }
    const providers = await createSignerProviders(
      new Map([
        ['local', signer('signers.local', { create: create('local') })],
        ['hsm', signer('signers.hsm', { create: create('hsm') })],
      ]),
      services,
    )
    expect([...providers.byName.keys()]).toEqual(['local', 'hsm'])
    expect(seen).toEqual([
      [{ directory: 'x' }, ['clock', 'log']],
      [{ directory: 'x' }, ['clock', 'log']],
    ])
    await providers[Symbol.asyncDispose]()
    expect(order).toEqual(['hsm', 'local'])
  })

  it('when one cannot be created the others are closed', async () => {
    const order: string[] = []
    const error = await failure(
      createSignerProviders(
        new Map([
          ['local', signer('signers.local', { create: () => provider(order, 'local') })],
          ['hsm', signer('signers.hsm', {})],
        ]),
        services,
      ),
    )
    expect((error as ConfigurationError).problems).toEqual([
      {
        path: 'signers.hsm',
        message: expect.stringMatching(
          /^could not be created: broken \(test\/host\/registries\.unit\.test\.ts:\d+:\d+\)$/,
        ),
        stack: expect.stringContaining('broken'),
      },
    ])
    expect(order).toEqual(['local'])
  })
})
