import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { showPassword } from '../support/clients/second-factor.js'
import { withFactors } from '../support/server/passkey-server.js'
import {
  openSignIn,
  passPassword,
  sendCode,
  sendPassword,
  setUpApp,
  visitAs,
} from '../support/server/second-factor-visits.js'
import { person, startServer, subject, type TestServer } from '../support/server/server.js'
import { failingStore, type Faults } from '../support/stores/failing-store.js'

describe('a one-time password after the password', () => {
  let server: TestServer
  let now = Date.now()
  let app: Awaited<ReturnType<typeof setUpApp>>
  const faults: Faults = new Map()
  beforeAll(async () => {
    server = await startServer({
      configure: withFactors,
      clock: () => now,
      // Outages are what some of these tests are about.
      log: { debug() {}, info() {}, warn() {}, error() {} },
      doubles: { stores: (sound) => ({ ...sound, records: failingStore(faults)(sound.records) }) },
    })
    app = await setUpApp(await visitAs(server.issuer, person), (secret) => showPassword(secret, now))
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const passFirst = () => passPassword(server.issuer, person)
  /** Of a step that nobody has used. */
  const nextCode = (): string => {
    now += 30_000
    return showPassword(app.secret, now)
  }
  const lastOf = async (name: string) => (await server.audit()).filter(({ event }) => event === name).at(-1)

  it('signs in with a code; a wrong one is refused beside its field, and may be typed again', async () => {
    const code = nextCode()
    const wrong = await sendCode(await passFirst(), code === '000000' ? '000001' : '000000')
    expect(wrong.status).toBe(403)
    expect(wrong.page.html).toMatch(/role="alert">Incorrect code\.<[^]*name="code"/)
    expect(wrong.page.agent.cookies.has('signet-session')).toBe(false)
    expect(await lastOf('login.refused')).toMatchObject({ method: 'totp', sub: subject })
    const right = await sendCode(wrong.page, ` ${code.slice(0, 3)} ${code.slice(3)} `)
    expect(right.status).toBe(303)
    expect(await lastOf('login.succeeded')).toMatchObject({
      method: 'password totp',
      amr: ['pwd', 'otp'],
      sub: subject,
    })
    const again = await sendCode(await passFirst(), code)
    expect([again.status, again.page.html.includes('Incorrect code.')]).toEqual([403, true])
  })

  it('signs in with a recovery code, once', async () => {
    const [, code = ''] = app.codes
    expect((await sendCode(await passFirst(), code.replaceAll('-', '').toUpperCase())).status).toBe(303)
    expect((await sendCode(await passFirst(), code)).status).toBe(403)
    expect((await sendCode(await passFirst(), nextCode())).status).toBe(303)
    const written = JSON.stringify(await server.audit())
    for (const hidden of [app.secret, ...app.codes]) expect(written).not.toContain(hidden)
  })

  it('SI70 passes for one of three browsers that send it at once', async () => {
    const pages = [await passFirst(), await passFirst(), await passFirst()]
    const code = nextCode()
    const answers = await Promise.all(pages.map((page) => sendCode(page, code)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 403, 403])
    expect(pages.filter(({ agent }) => agent.cookies.has('signet-session'))).toHaveLength(1)
  })

  it.each(['person_factors.find', 'person_factors.update', '*'])(
    'SI71 is an outage while the store is down (%s), and the same code passes later',
    async (step) => {
      const [first, waiting] = [await openSignIn(server.issuer), await passFirst()]
      const code = nextCode()
      faults.set(step, 'before')
      const down = await sendCode(waiting, code)
      const unasked = step === 'person_factors.find' ? await sendPassword(first, person) : undefined
      faults.clear()
      expect([down.status, Number(down.headers.get('retry-after'))]).toEqual([503, expect.any(Number)])
      expect(down.page.html).not.toContain('Incorrect code.')
      // A person whose second factor cannot be read has no way round it.
      if (unasked) expect([unasked.status, unasked.agent.cookies.has('signet-session')]).toEqual([503, false])
      expect(waiting.agent.cookies.has('signet-session')).toBe(false)
      expect((await sendCode(await passFirst(), code)).status).toBe(303)
    },
  )
})
