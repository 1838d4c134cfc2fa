import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { epochSeconds } from '../../../core/clock.js'
import { grantEntryId, type GrantEntry } from '../../../core/oauth/grants/grant-index.js'
import { UserAgent } from '../clients/user-agent.js'

import { collectionsOf } from '../forge/mint.js'
import { openTestRecords } from '../stores/test-stores.js'

type Fields = Readonly<Record<string, string>>
type Credentials = { readonly username: string; readonly password: string }

const unescape = (text: string): string =>
  text.replaceAll('&amp;', '&').replaceAll('&#39;', "'").replaceAll('&quot;', '"')

/** Texts between tags, with single spaces. */
const textOf = (html: string): string =>
  unescape(
    html
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  )

/** What one section of the page shows, as tests read it. */
export const readSection = (html: string, name: string) => {
  const [section = ''] = new RegExp(`<section [^>]*id="${name}".*?</section>`, 's').exec(html) ?? []
  const values = (field: string) =>
    [...section.matchAll(new RegExp(`name="${field}" value="([^"]*)"`, 'g'))].map(([, value = '']) => unescape(value))
  return {
    html: section,
    text: textOf(section),
    rows: [...section.matchAll(/<h3>(.*?)<\/h3>/gs)].map(([, title = '']) => textOf(title)),
    csrf: values('csrf')[0] ?? '',
    values,
    next: unescape(/<a href="([^"]*after=[^"]*)"/.exec(section)?.[1] ?? ''),
    notice: textOf(/class="notice"[^>]*>(.*?)<\/p>/s.exec(section)?.[1] ?? ''),
  }
}

/** A person at `/account`, by a browser without scripts. `at` may be any replica. */
export const visitAccount = (at: string, agent = new UserAgent()) => {
  const page = async (path = '/account', init?: RequestInit) => {
    const { response, url } = await agent.follow(path.startsWith('http') ? path : at + path, init)
    return { status: response.status, headers: response.headers, url, html: await response.text() }
  }
  const send = async (section: string, fields: Fields) => {
    const { html } = await page()
    return post(section, { csrf: readSection(html, section).csrf, ...fields })
  }
  const post = (section: string, fields: Fields) =>
    page(`/account/${section}`, { method: 'POST', body: new URLSearchParams(fields) })
  return {
    agent,
    page,
    /** With the token of a page that is opened for it. */
    send,
    /** As it is. */
    post,
    /** From the page to the sign-in and back. */
    async signIn(person: Credentials) {
      const { html, url } = await page()
      const { response } = await agent.submit(url, html, { ...person })
      return { status: response.status, html: await response.text() }
    },
    section: async (name: string) => readSection((await page()).html, name),
  }
}

export type AccountVisitor = ReturnType<typeof visitAccount>

/** Puts into the store of a server what a person granted clients, without sign-ins. */
export const putGrants = async (
  directory: string,
  clients: readonly string[],
  subject: string,
  more: Partial<GrantEntry> = {},
): Promise<void> => {
  await using store = await openTestRecords(join(directory, 'store'), Date.now)
  const { grantIndex } = collectionsOf(store)
  const now = epochSeconds(Date.now)
  const puts = clients.map((clientId) => {
    const granted = { clientId, subject, scope: ['openid'], resource: [], authTime: now + 1, grantedAt: now, ...more }
    const entry = { ...granted, grantId: randomUUID() }
    return grantIndex.put(grantEntryId(entry), entry)
  })
  await Promise.all(puts)
}
