import { deepEqual, equal, notEqual, ok, rejects } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { KeyRefused, type KeyTags, type SignerProvider } from '../../keys/ports.js'
import type { JwsAlg } from '../../jose/jwk.js'
import type { SignerCase, SignerUnderTest } from './signer-case.js'

const never = new AbortController().signal
const deployment = 'https://id.example/~täst'

interface MadeKey {
  readonly name: string
  readonly ref: string
  readonly tags: KeyTags
}

type SlotSigner = SignerProvider & Required<Pick<SignerProvider, 'create' | 'find' | 'list'>>

const slotSigner = (provider: SignerProvider): SlotSigner => {
  ok(provider.create !== undefined, 'has `find` or `list`, but no `create`')
  ok(provider.find !== undefined, 'has `create` and `list`, but no `find`')
  ok(provider.list !== undefined, 'has `create` and `find`, but no `list`')
  return provider as SlotSigner
}

/** Makes a key for one case, and removes it where the backend can. */
const withKey = async (
  { provider, newName }: SignerUnderTest,
  alg: JwsAlg,
  work: (signer: SlotSigner, key: MadeKey) => Promise<void>,
): Promise<void> => {
  const signer = slotSigner(provider)
  const name = newName?.() ?? ''
  const tags: KeyTags = { deployment, slot: 'check', kid: `check-${randomBytes(4).toString('hex')}` }
  const ref = await signer.create(name, alg, never, tags)
  try {
    await work(signer, { name, ref, tags })
  } finally {
    await provider.removal?.disable(ref, never)
    await provider.removal?.destroy(ref, never)
  }
}

/** The rules for keys of slots, for signers that make keys and a backend in which they may be made. */
export const slotCases = (alg: JwsAlg): readonly SignerCase[] =>
  [
    {
      name: 'finds nothing by a name that was never given, with tags or without',
      async run({ provider, newName }: SignerUnderTest) {
        const name = newName?.() ?? ''
        const signer = slotSigner(provider)
        deepEqual(await signer.find(name, never), [])
        deepEqual(await signer.find(name, never, { deployment, slot: 'check', kid: 'check-0' }), [])
      },
    },
    {
      name: 'finds a key that it made, by name and by ref, as often as it is asked, and opens it',
      run: (given: SignerUnderTest) =>
        withKey(given, alg, async (signer, { name, ref, tags }) => {
          for (const found of [
            await signer.find(name, never),
            await signer.find(name, never, tags),
            await signer.find(ref, never),
          ])
            deepEqual(found, [ref])
          equal((await signer.open(ref, alg, never)).alg, alg)
        }),
    },
    {
      name: 'refuses to make a second key of one name, and makes none',
      run: (given: SignerUnderTest) =>
        withKey(given, alg, async (signer, { name, ref, tags }) => {
          const { publicJwk } = await signer.open(ref, alg, never)
          await rejects(signer.create(name, alg, never, { ...tags, kid: 'check-0' }), KeyRefused)
          deepEqual(await signer.find(name, never), [ref])
          deepEqual((await signer.open(ref, alg, never)).publicJwk, publicJwk)
        }),
    },
    {
      name: 'lists a key that it made, with its name and, where it has tags, its tags',
      run: (given: SignerUnderTest) =>
        withKey(given, alg, async (signer, { name, ref, tags }) => {
          const listed = (await signer.list(name, deployment, never)).filter((key) => key.ref === ref)
          equal(listed.length, 1, `lists it ${listed.length} times`)
          equal(listed[0]?.name, name)
          if (listed[0].tags === undefined) return
          deepEqual(listed[0].tags, tags)
          const others = await signer.list(name, 'https://other.example', never)
          ok(
            others.every((key) => key.ref !== ref),
            'lists it for another deployment',
          )
        }),
    },
    {
      name: 'says of a key that it made what its backend says, if it says anything',
      run: (given: SignerUnderTest) =>
        withKey(given, alg, async ({ inspect }, { ref }) => {
          if (inspect === undefined) return
          notEqual(Object.keys(await inspect.call(given.provider, ref, never)).length, 0)
          await rejects(inspect.call(given.provider, 'no-such-key', never), KeyRefused)
        }),
    },
    {
      name: 'removes a key for good, as often as it is asked, if it removes keys',
      run: (given: SignerUnderTest) =>
        withKey(given, alg, async (signer, { ref, name }) => {
          const { removal } = signer
          if (removal === undefined) return
          for (const step of ['disable', 'disable', 'destroy', 'destroy', 'disable'] as const)
            await removal[step](ref, never)
          await rejects(signer.open(ref, alg, never), KeyRefused)
          const left = (await signer.list(name, deployment, never)).filter((key) => key.ref === ref)
          ok(
            left.every(({ disabled }) => disabled === true),
            'lists it as if it could sign',
          )
        }),
    },
    {
      name: 'makes, finds and lists nothing for a signal that is aborted',
      async run({ provider, newName }: SignerUnderTest) {
        const signer = slotSigner(provider)
        const name = newName?.() ?? ''
        const reason = new Error('too late')
        const aborted = AbortSignal.abort(reason)
        const is = (error: unknown) => error === reason
        await rejects(signer.create(name, alg, aborted), is)
        await rejects(signer.find(name, aborted), is)
        await rejects(signer.list(name, deployment, aborted), is)
        deepEqual(await signer.find(name, never), [])
      },
    },
  ].map((rule) => ({ ...rule, makesKeys: true }))
