import type { UserAgent } from './user-agent.js'

export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** A television: a public client of the device flow. */
export const tvClient = {
  client_id: 'tv',
  client_name: 'Living room TV',
  token_endpoint_auth_method: 'none',
  grant_types: [deviceGrant, 'refresh_token'],
  scope: 'openid profile email offline_access read',
}
export const otherTvClient = { ...tvClient, client_id: 'other-tv', client_name: 'Kitchen TV' }
/** A confidential one. */
export const boxClient = {
  ...tvClient,
  client_id: 'box',
  client_name: 'Box',
  client_secret: 'box-secret-of-more-than-256-bits-for-tests',
  token_endpoint_auth_method: 'client_secret_basic',
}

/** Adds the grant and its clients to a configuration. */
export const withDevices = (written: Record<string, unknown>): Record<string, unknown> => {
  const plugins = written['plugins'] as { readonly use: string }[]
  const use = 'plugins/grants/device-code'
  return {
    ...written,
    plugins: plugins.some((plugin) => plugin.use === use) ? plugins : [...plugins, { use }],
    clients: [...(written['clients'] as object[]), tvClient, otherTvClient, boxClient],
  }
}

interface Shown {
  readonly status: number
  readonly html: string
  readonly url: URL
}

const shown = async ({ response, url }: { readonly response: Response; readonly url: URL }): Promise<Shown> => ({
  status: response.status,
  html: await response.text(),
  url,
})

/** What a person does on the pages of the device flow. */
export const personAt = (agent: UserAgent, issuer: string) => {
  const verifyUrl = new URL(`${issuer}/device/verify`)
  const person = {
    /** To the page where the code is typed, by way of the sign-in when it is asked for. */
    async open(who: { readonly username: string; readonly password: string }, at = `${issuer}/device`): Promise<Shown> {
      const page = await shown(await agent.follow(at))
      if (!page.html.includes('id="login-submit"')) return page
      return shown(await agent.submit(page.url, page.html, { ...who }))
    },
    /** Posts to `/device/verify` with the hidden fields of the page. */
    async submit(page: Pick<Shown, 'html'>, fields: Readonly<Record<string, string>>): Promise<Shown> {
      const userCode = /type="hidden" name="user_code" value="([^"]+)"/.exec(page.html)?.[1]
      const hidden = userCode === undefined ? {} : { user_code: userCode }
      return shown(await agent.submit(verifyUrl, page.html, { ...hidden, ...fields }))
    },
    enter: (page: Pick<Shown, 'html'>, userCode: string) => person.submit(page, { user_code: userCode }),
    decide: (page: Pick<Shown, 'html'>, decision: 'approve' | 'deny') => person.submit(page, { decision }),
    /** All of it. */
    async answer(
      who: { readonly username: string; readonly password: string },
      userCode: string,
      decision: 'approve' | 'deny' = 'approve',
    ): Promise<Shown> {
      const shown = await person.enter(await person.open(who), userCode)
      // The form of an error page has no token: what it was would be hidden by what comes of it.
      return shown.status === 200 ? person.decide(shown, decision) : shown
    },
  }
  return person
}

export type DevicePerson = ReturnType<typeof personAt>
