import { describe, expect, it } from 'vitest'
import { startMoto } from '../../support/signers/moto.js'
import { startKmsDouble } from '../../../core/testing/kms-double/index.js'
import { describeWith } from '../../support/services/describe-with.js'
import { makeToken, type SoftToken } from '../../support/signers/softhsm/token.js'
import { verifyElsewhere } from './judges.js'
import { Evidence, days, expectPlanned, letPass, slotsIn, startTwo, timeout } from './rotation.js'

const inToken = ({ module, label, pin, environment }: SoftToken) => ({
  use: 'signers/pkcs11',
  options: { module, token: label, pin, environment, sessions: 1 },
})

process.env['AWS_ACCESS_KEY_ID'] ??= 'AKIADOUBLE'
process.env['AWS_SECRET_ACCESS_KEY'] ??= 'the double does not look at it'

describeWith(['softhsm2', 'nimbus verifier', 'flask recipe'], 'keys that rotate themselves, in an HSM', () => {
  it(
    `change for ${String(days)} days on two replicas, and the token has those of the records and no others`,
    async () => {
      await using token = await makeToken()
      const rotating = await startTwo(slotsIn('hsm'), { hsm: inToken(token) })
      const evidence = new Evidence()
      const keys = await expectPlanned(rotating, await letPass(rotating, days, evidence))
      const { tokens } = evidence
      expect(await verifyElsewhere(evidence)).toEqual({ joserfc: tokens, nimbus: tokens })
      const listed = await token.tool('--list-objects', '--type', 'privkey')
      const labels = [...listed.matchAll(/label: +(\S+)/g)].map(([, label]) => label)
      expect(labels.toSorted()).toEqual(keys.map(({ name }) => name).toSorted())
    },
    timeout * 2,
  )

  it('KR14 move from files to an HSM and on to a KMS, and every token verifies', async () => {
    await using token = await makeToken()
    await using kms = await startKmsDouble()
    const signers = {
      hsm: inToken(token),
      kms: { use: 'signers/aws-kms', options: { region: 'eu-central-1', endpoint: kms.endpoint } },
    }
    const rotating = await startTwo(slotsIn('local'), signers)
    expect(await letPass(rotating, 20)).toEqual(new Set(['es-1', 'rs-1', 'ed-1']))
    for (const [signer, number] of [
      ['hsm', 3],
      ['kms', 5],
    ] as const) {
      await rotating.reconfigure((written) => ({ ...written, keys: slotsIn(signer) }))
      // The key that waited is given up, and the next one is announced before it signs.
      const seen = await letPass(rotating, 32)
      const expected = ['es', 'rs', 'ed'].flatMap((slot) => [number - 2, number].map((one) => `${slot}-${String(one)}`))
      expect(seen).toEqual(new Set(expected))
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

describeWith('moto recipe', 'keys that rotate themselves, in moto', () => {
  it(
    'change for a quarter on two replicas; those for EdDSA, which moto lacks, are in files',
    { timeout: 300_000 },
    async () => {
      await using moto = await startMoto()
      const options = { region: 'eu-central-1', endpoint: moto.endpoint }
      const keys = slotsIn('kms').map((slot) => (slot['slot'] === 'ed' ? { ...slot, signer: 'local' } : slot))
      const rotating = await startTwo(keys, { kms: { use: 'signers/aws-kms', options } })
      await expectPlanned(rotating, await letPass(rotating, 92), 92)
    },
  )
})
