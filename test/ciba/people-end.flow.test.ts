import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { startCibaServer, type CibaServer } from '../support/server/ciba-server.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { subject } from '../support/server/server.js'

describe('requests that nobody has decided about', () => {
  const keep = disposeAfterAll()
  let cli: CommandLine
  let server: CibaServer
  beforeAll(async () => {
    cli = keep(await openCommandLine())
    server = keep(await startCibaServer())
  })
  const endPerson = (...more: string[]) =>
    cli.run(['people', 'end', '--sub', subject, '--config', join(server.host.server.directory, 'signet.yaml'), ...more])

  it('are counted by `people end --no-factors` and stay', async () => {
    const id = await server.start()
    const { stdout, stderr, code } = await endPerson('--no-factors')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`1 request for approval on a device of this person: signet people end --sub ${subject}`)
    server.rest()
    expect((await server.poll(id)).body).toMatchObject({ error: 'authorization_pending' })
    expect(JSON.parse((await endPerson('--no-factors', '--json')).stdout)).toMatchObject({ approvals_waiting: 1 })
  })

  it('end with `people end`: the client is refused, and no device can approve', async () => {
    const phone = await server.newPhone()
    const id = await server.start()
    const [first] = await phone.list()
    expect((await endPerson()).stdout).toContain('Ended 2 requests that waited for approval on a device')
    server.rest()
    expect((await server.poll(id)).body).toMatchObject({ error: 'access_denied' })
    expect(await phone.list()).toEqual([])
    expect((await phone.decide(first!)).status).toBe(409)
    expect(JSON.parse((await endPerson('--json')).stdout)).toMatchObject({ approvals_ended: 0 })
  })
})
