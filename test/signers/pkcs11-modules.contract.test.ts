import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { JwsAlg, SignerProvider } from '../../core/api/signer.js'
import { describeWith } from '../support/services/describe-with.js'
import type { ServiceName } from '../support/services/table.js'
import {
  nssToken,
  p11KitProxyToken,
  p11KitToken,
  spyToken,
  tpmToken,
  type RealToken,
} from '../support/signers/real-modules.js'
import { openProvider } from '../support/signers/softhsm/token.js'
import { never, newJournal, signsRightly } from '../support/signers/softhsm/watched.js'

// Modules other than SoftHSM, each with what is peculiar to it.

interface Case {
  readonly name: string
  readonly needs: readonly [ServiceName, ...ServiceName[]]
  readonly make: (module: string) => Promise<RealToken>
  readonly algorithms: readonly JwsAlg[]
  readonly sessions: number
}

const cases: readonly Case[] = [
  {
    name: 'p11-kit-client, an instance of the library for each thread',
    needs: ['p11-kit', 'softhsm2'],
    make: p11KitToken,
    algorithms: ['ES256', 'RS256', 'PS256'],
    sessions: 4,
  },
  {
    name: 'p11-kit-proxy',
    needs: ['p11-kit', 'softhsm2'],
    make: p11KitProxyToken,
    algorithms: ['ES256', 'RS256'],
    sessions: 4,
  },
  {
    name: 'pkcs11-spy, which loads another module',
    needs: ['pkcs11-spy', 'softhsm2'],
    make: spyToken,
    algorithms: ['ES256', 'RS256', 'PS256', 'EdDSA'],
    sessions: 4,
  },
  {
    name: 'a TPM 2.0, which takes no template that forbids decryption',
    needs: ['tpm2'],
    make: tpmToken,
    algorithms: ['ES256', 'RS256', 'PS256'],
    sessions: 1,
  },
  {
    name: 'NSS, which wants parameters of the library',
    needs: ['nss'],
    make: nssToken,
    algorithms: ['ES256', 'RS256'],
    sessions: 4,
  },
]

for (const { name, needs, make, algorithms, sessions } of cases)
  describeWith(needs, name, (module) => {
    let token: RealToken
    const providers: SignerProvider[] = []
    const journal = newJournal()
    const open = async (options = {}, pin = token.pin): Promise<SignerProvider> => {
      const provider = await openProvider({ ...token, pin }, { ...token.options, ...options }, journal)
      providers.push(provider)
      return provider
    }
    beforeAll(async () => {
      token = await make(module)
    }, 120_000)
    afterEach(async () => {
      for (const provider of providers.splice(0)) await provider[Symbol.asyncDispose]()
    })
    afterAll(() => token?.[Symbol.asyncDispose]())

    it.each(algorithms)('makes a key for %s, and signs with it in every session', async (alg) => {
      const provider = await open()
      const signer = await provider.open((await provider.create?.(`key ${alg}`, alg, never)) ?? '', alg, never)
      const signed = await Promise.all(Array.from({ length: 3 * sessions }, () => signsRightly(signer)))
      expect(signed).not.toContain(false)
      // Behind `p11-kit server` each session is a process of SoftHSM, and one may be denied at first.
      const granted = () => journal.lines.filter((line) => /is ready|further session/.test(line)).at(-1)
      await expect.poll(granted, { timeout: 20_000 }).toContain(`"sessions":${sessions}`)
      expect(journal.lines.filter((line) => line.includes('restarted'))).toEqual([])
    })

    it('tries a wrong PIN once', async () => {
      const provider = await open({}, 'wrong-pin')
      await expect(provider.ping(never)).rejects.toThrow('C_Login: CKR_PIN_INCORRECT')
      await expect(provider.ping(never)).rejects.toThrow('CKR_PIN_INCORRECT')
      expect(journal.lines.filter((line) => line.includes('It is not tried again'))).toHaveLength(1)
    })
  })
