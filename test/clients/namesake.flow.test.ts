import { join } from 'node:path'
import { expect, it } from 'vitest'
import { authorizeUrl, collectionsOf } from '../support/forge/mint.js'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import { person, publicClient, serviceClient, startServer, subject } from '../support/server/server.js'
import { openTestRecords } from '../support/stores/test-stores.js'
import { UserAgent } from '../support/clients/user-agent.js'

it('LG09 a person whose subject is the id of a client in the store is not signed in', async () => {
  await using server = await startServer()
  {
    await using records = await openTestRecords(join(server.directory, 'store'), Date.now)
    const { client } = parseClientMetadata({ ...serviceClient, client_id: subject }, ['read', 'write'])
    if (client === undefined) throw new Error('the metadata is wrong')
    await collectionsOf(records).clients.put(subject, client)
  }
  const agent = new UserAgent()
  const shown = await agent.follow(authorizeUrl(server.issuer, { client_id: publicClient.client_id }))
  const answer = await agent.submit(shown.url, await shown.response.text(), person)
  expect(answer.response.status).toBe(403)
  expect([...agent.cookies.keys()]).toEqual(['signet-browser'])
  expect(await server.audit()).toContainEqual(
    expect.objectContaining({ event: 'login.refused', sub: subject, reason: 'the subject is the id of a client' }),
  )
})
