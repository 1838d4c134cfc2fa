import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { compactVerify, importJWK, type JWK } from 'jose'
import { expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { describeWith } from '../support/services/describe-with.js'
import { makeToken } from '../support/signers/softhsm/token.js'
import { payloadOf, server, setUpServer } from './set-up.js'

type Told = { readonly errorCode: string; readonly cause?: string }
interface Found extends Record<'wrongPin' | 'noToken' | 'noKey' | 'otherCurve' | 'noModule', Told> {
  readonly attestation: string
  readonly publicJwk: JWK
  readonly signatures: readonly string[]
}

describeWith(['softhsm2', 'opensc'], 'a service whose key is in an HSM', () => {
  setUpServer()

  it('enrols, signs, signs again after its session was lost, and reports what is wrong', async () => {
    await using token = await makeToken()
    await token.makeKey('EC:prime256v1', 'service', '01')
    await token.makeKey('EC:secp384r1', 'p384', '02')
    const { module, label, pin, environment } = token
    const order = { issuer: server.issuer, key: { module, token: label, pin, label: 'service' }, wrongPin: '0000' }
    const script = join(packageRoot, 'test/device-library/hsm-process.js')
    const env = { ...process.env, ...environment }
    const { stdout } = await promisify(execFile)(process.execPath, [script, JSON.stringify(order)], { env })
    const found = JSON.parse(stdout) as Found

    expect(payloadOf(found.attestation)).toMatchObject({ did: 'hsm-1', principal_type: 'service' })
    const publicKey = await importJWK(found.publicJwk, 'ES256')
    expect(found.signatures).toHaveLength(21)
    for (const signature of found.signatures) await compactVerify(signature, publicKey)
    expect(new Set(found.signatures.map((one) => payloadOf(one)['jti'])).size).toBe(21)

    const { wrongPin, noToken, noKey, otherCurve, noModule } = found
    expect(wrongPin).toMatchObject({ errorCode: 'KeyFailed', cause: expect.stringContaining('CKR_PIN_INCORRECT') })
    expect(noToken).toMatchObject({ errorCode: 'KeyFailed', cause: expect.stringContaining('0 tokens match another') })
    expect(noKey).toMatchObject({ errorCode: 'KeyFailed', cause: expect.stringContaining('no private key another') })
    expect(otherCurve).toMatchObject({ errorCode: 'KeyFailed', cause: expect.stringContaining('not a P-256 key') })
    expect(noModule).toMatchObject({ errorCode: 'KeyFailed' })
  })
})
