import { decodeAttestationObject } from '@simplewebauthn/server/helpers'
import { chromium, type Browser, type BrowserContext, type CDPSession, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Device, EvidenceRequest } from '../../libraries/device/index.js'
import { bundle } from '../support/bundle.js'
import { decodeJws } from '../support/clients/attestation.js'
import { startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'
import { describeWith } from '../support/services/describe-with.js'

// A page enrols with an authenticator of Chromium, which is virtual; its statements are what a security key makes.

type Json = Record<string, unknown>

/** What the page below offers to the test. */
declare const device: Device
declare const register: (
  statement: Uint8Array<ArrayBuffer>,
  wishes?: Json,
) => Promise<{ readonly response: Record<string, string> }>

const shown = (issuer: string): string => `<!doctype html><title>device</title><script type="module">
  import { createDevice, indexedDbStore } from '/library.js'
  const sameOrigin = (url, request) => fetch(url.replace('127.0.0.1', 'localhost'), request)
  const device = createDevice({ issuer: '${issuer}', store: indexedDbStore(), fetch: sameOrigin })
  const register = async (challenge, wishes = {}) => {
    const { verification = 'required', ...more } = wishes
    const credential = await navigator.credentials.create({
      publicKey: {
        challenge,
        attestation: 'direct',
        rp: { id: 'localhost', name: 'Bank' },
        user: { id: crypto.getRandomValues(new Uint8Array(16)), name: 'alice', displayName: 'Alice' },
        pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
        authenticatorSelection: { userVerification: verification },
        ...more,
      },
    })
    return credential.toJSON()
  }
  Object.assign(window, { device, register })
</script>`

const authenticator = {
  ...({ protocol: 'ctap2', transport: 'usb' } as const),
  ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
}

describeWith('chromium', 'a page with an authenticator', (executablePath) => {
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let protocol: CDPSession
  let server: AttestationServer
  const open = async (origin: string, issuer: string) => {
    await page.goto(`${origin}/tab?${new URLSearchParams({ issuer }).toString()}`)
    await page.waitForFunction('window.register')
  }
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath })
    context = await browser.newContext()
    const { text: body } = await bundle('libraries/device/index.ts')
    await context.route('**/tab?*', (route) => {
      const issuer = new URL(route.request().url()).searchParams.get('issuer') ?? ''
      return route.fulfill({ contentType: 'text/html', body: shown(issuer) })
    })
    await context.route('**/library.js', (route) => route.fulfill({ contentType: 'text/javascript', body }))
    page = await context.newPage()
    protocol = await context.newCDPSession(page)
    await protocol.send('WebAuthn.enable')
    await protocol.send('WebAuthn.addVirtualAuthenticator', { options: authenticator })
    // Whom the deployer trusts is Chromium: the certificate of its virtual authenticators has no authority.
    await open('http://localhost', 'http://127.0.0.1')
    const made = await page.evaluate(() => register(new TextEncoder().encode('x')))
    const object = decodeAttestationObject(Buffer.from(made.response['attestationObject'] ?? '', 'base64url'))
    const [der = new Uint8Array()] = object.get('attStmt').get('x5c') ?? []
    const root = `-----BEGIN CERTIFICATE-----\n${Buffer.from(der).toString('base64')}\n-----END CERTIFICATE-----`
    server = await startAttestationServer({
      section: { require_evidence: ['device'] },
      configure(written) {
        const origin = String(written['issuer']).replace('127.0.0.1', 'localhost')
        const levels = { key_storage: ['https://bank.example/keys'], user_authentication: ['iso_18045_moderate'] }
        const options = { roots: [root], rp_id: 'localhost', origins: [origin], ...levels }
        const plugin = { use: 'plugins/attestation/evidence-webauthn', options }
        return { ...written, plugins: [...(written['plugins'] as Json[]), plugin] }
      },
    })
    await open(server.issuer.replace('127.0.0.1', 'localhost'), server.issuer)
  })
  afterAll(async () => {
    await browser.close()
    await server[Symbol.asyncDispose]()
  })

  /** The code of the refusal, or the attestation. */
  const enrol = (wishes: Json = {}) =>
    page.evaluate(async (wanted) => {
      const principal = { subject: 'alice', principalId: 'laptop-1', principalType: 'device' } as const
      const evidence = async ({ statement }: EvidenceRequest) => ({
        kind: 'webauthn',
        credential: await register(statement, wanted),
      })
      const secondFactor = { kind: 'word', value: 'right' }
      try {
        await device.enrol({ ...principal, secondFactor, ...(wanted['without'] === true ? {} : { evidence }) })
      } catch (error) {
        return (error as { errorCode: string }).errorCode
      }
      return device.attestation()
    }, wishes)

  it('enrols a key that no script can read, and attests how it is protected', async () => {
    expect(decodeJws(await enrol()).payload).toMatchObject({
      did: 'laptop-1',
      key_storage: ['https://bank.example/keys'],
      user_authentication: ['iso_18045_moderate'],
    })
  })
  it('is refused without evidence, without a statement and without verification of the user', async () => {
    expect(await enrol({ without: true })).toBe('EvidenceRequired')
    expect(await enrol({ attestation: 'none' })).toBe('EvidenceInvalid')
    await protocol.send('WebAuthn.disable')
    await protocol.send('WebAuthn.enable')
    const options = { ...authenticator, hasUserVerification: false, isUserVerified: false }
    await protocol.send('WebAuthn.addVirtualAuthenticator', { options })
    expect(await enrol({ verification: 'discouraged' })).toBe('EvidenceInvalid')
  })
})
