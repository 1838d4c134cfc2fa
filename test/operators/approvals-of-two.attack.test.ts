import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadWithStores } from '../../core/checks/check-configuration.js'
import { collections } from '../../core/collections/collections.js'
import { openStores } from '../../core/collections/stores.js'
import { SoftwareAuthenticator } from '../support/clients/software-authenticator.js'
import { freePort } from '../support/free-port.js'
import { fieldOf, OperatorBrowser, optionsOf } from '../support/server/operator-browser.js'
import { startOperatorServer } from '../support/server/operator-server.js'

describe('a change that needs two others', () => {
  it('is not carried out when the record was edited between them (AD45)', async () => {
    const port = await freePort()
    const keys = ['ada', 'bob', 'eve'].map(
      (name) => [name, new SoftwareAuthenticator(`http://localhost:${String(port)}`)] as const,
    )
    await using two = await startOperatorServer({
      configure: (written) => ({
        ...written,
        ...{ admin: { host: '127.0.0.1', port }, dual_control: { clients: 2 } },
        operators: {
          people: keys.map(([name, { id, publicKey }]) => ({
            ...{ name, roles: ['operator'], passkeys: [{ id, public_key: publicKey }] },
          })),
        },
      }),
    })
    await using opened = await openStores(await loadWithStores(join(two.directory, 'signet.yaml'), {}), Date.now)
    const send = await two.as('operator')
    const signAs = async (name: string, id: string) => {
      const [, key] = keys.find(([one]) => one === name)!
      const browser = new OperatorBrowser(two.admin)
      await browser.signIn(key)
      const { html } = await browser.open(`/console/approvals/${id}`)
      const answer = key.signIn(optionsOf(html))
      return browser.post(`/console/approvals/${id}`, { csrf: fieldOf(html, 'csrf'), answer })
    }
    const records = collections(opened).approvals
    const start = async () => {
      const body = { client_name: 'Shop', grant_types: ['client_credentials'] }
      const id = (await send('/clients', { method: 'POST', body })).body.approval as string
      expect((await signAs('ada', id)).location).toContain('approval_waiting')
      return { id, record: (await records.find(id))! }
    }
    const edited = await start()
    const document = edited.record.document.replace('"client_name":"Shop"', '"client_name":"Evil"')
    await records.put(edited.id, { ...edited.record, document })
    expect((await signAs('bob', edited.id)).location).toContain('approval_waiting')

    const copied = await start()
    const [given] = copied.record.approvals
    await records.put(copied.id, { ...copied.record, approvals: [given!, { ...given!, operator: 'eve' }] })
    expect((await signAs('bob', copied.id)).location).toContain('approval_done')
    const forged = await start()
    const [own] = forged.record.approvals
    await records.put(forged.id, { ...forged.record, approvals: [{ ...own!, operator: 'eve' }] })
    expect((await signAs('bob', forged.id)).location).toContain('approval_waiting')
    const states = await Promise.all(
      [edited, copied, forged].map(async ({ id }) => (await send(`/approvals/${id}`)).body.state),
    )
    expect(states).toEqual(['waiting', 'done', 'waiting'])
  })
})
