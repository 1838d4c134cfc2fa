import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startKmsDouble } from '../../../core/testing/kms-double/index.js'
import { describeWith } from '../../support/services/describe-with.js'
import { makeToken, type SoftToken } from '../../support/signers/softhsm/token.js'
import { kidOfToken, letPass, look, prepareRotation, slotsIn, startTwo, tokenOf, type Rotating } from './rotation.js'

/** `SIGNET_ROTATION_DAYS=730` lets two years pass. */
const days = Number(process.env['SIGNET_ROTATION_DAYS'] ?? 70)
const timeout = 30_000 + days * 1000

const inToken = ({ module, label, pin, environment }: SoftToken) => ({
  use: 'signers/pkcs11',
  options: { module, token: label, pin, environment, sessions: 1 },
})

process.env['AWS_ACCESS_KEY_ID'] ??= 'AKIADOUBLE'
process.env['AWS_SECRET_ACCESS_KEY'] ??= 'the double does not look at it'

const numbersOf = (kids: Iterable<string>): readonly number[] => [...kids].map((kid) => Number(kid.slice(3)))

/** Whether rotations happened as often as planned, and each key of the records is one that was planned. */
const expectPlanned = async (rotating: Rotating, signers: ReadonlySet<string>) => {
  expect(signers.size).toBe(Math.floor(days / 30) + 1)
  const records = await rotating.records()
  expect(records.map(({ slot, delay }) => [slot, delay])).toEqual(['ed', 'es', 'rs'].map((slot) => [slot, undefined]))
  for (const { keys } of records) expect(keys.length).toBe(Math.max(...numbersOf(signers)) + 1)
  return records.flatMap(({ keys }) => keys)
}

describe('keys that rotate themselves, in files', () => {
  it('exist from the first start on, and are kept over restarts', async () => {
    const { start, time } = await prepareRotation(slotsIn('local'))
    let first: readonly string[] = []
    {
      await using server = await start()
      await look(time, server)
      first = await server.kids()
      expect(first).toEqual(['es-2', 'es-1', 'rs-2', 'rs-1', 'ed-2', 'ed-1'])
      expect(kidOfToken(await tokenOf(server))).toBe('es-1')
      const files = (await readdir(join(server.directory, 'keys'))).toSorted()
      expect(files).toEqual(first.map((kid) => `signet-${kid}`).toSorted())
    }
    await using server = await start()
    expect(await server.kids()).toEqual(first)
  })

  it(
    `change for ${String(days)} days on two replicas, and no relying party meets one that it cannot know`,
    async () => {
      const rotating = await startTwo(slotsIn('local'))
      const keys = await expectPlanned(rotating, await letPass(rotating, days))
      const files = await readdir(join(rotating.a.directory, 'keys'))
      expect(files.toSorted()).toEqual(keys.map(({ name }) => name).toSorted())
    },
    timeout,
  )
})

describeWith('softhsm2', 'keys that rotate themselves, in an HSM', () => {
  it(
    `change for ${String(days)} days on two replicas, and the token has those of the records and no others`,
    async () => {
      await using token = await makeToken()
      const rotating = await startTwo(slotsIn('hsm'), { hsm: inToken(token) })
      const keys = await expectPlanned(rotating, await letPass(rotating, days))
      const listed = await token.tool('--list-objects', '--type', 'privkey')
      const labels = [...listed.matchAll(/label: +(\S+)/g)].map(([, label]) => label)
      expect(labels.toSorted()).toEqual(keys.map(({ name }) => name).toSorted())
    },
    timeout * 2,
  )

  it('move from files to an HSM and on to a KMS, and every token verifies', async () => {
    await using token = await makeToken()
    await using kms = await startKmsDouble()
    const signers = {
      hsm: inToken(token),
      kms: { use: 'signers/aws-kms', options: { region: 'eu-central-1', endpoint: kms.endpoint } },
    }
    const rotating = await startTwo(slotsIn('local'), signers)
    expect(await letPass(rotating, 20)).toEqual(new Set(['es-1']))
    for (const [signer, number] of [
      ['hsm', 3],
      ['kms', 5],
    ] as const) {
      await rotating.reconfigure((written) => ({ ...written, keys: slotsIn(signer) }))
      // The key that waited is given up, and the next one is announced before it signs.
      const seen = await letPass(rotating, 32)
      expect(seen).toEqual(new Set([`es-${String(number - 2)}`, `es-${String(number)}`]))
      const [last] = (await rotating.records()).flatMap(({ keys }) =>
        keys.filter(({ kid }) => kid === `es-${String(number)}`),
      )
      expect(last).toMatchObject({ signer, step: 'signing' })
    }
  }, 120_000)
})

describe('keys that rotate themselves, in a KMS', () => {
  it(
    `change for ${String(days)} days on two replicas`,
    async () => {
      await using kms = await startKmsDouble()
      const options = { region: 'eu-central-1', endpoint: kms.endpoint }
      const rotating = await startTwo(slotsIn('kms'), { kms: { use: 'signers/aws-kms', options } })
      await expectPlanned(rotating, await letPass(rotating, days))
    },
    timeout * 2,
  )
})
