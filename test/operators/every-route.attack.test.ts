import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAdminEndpoints } from '../../core/host/admin-endpoints.js'
import { noLog } from '../../core/observe/log.js'
import { builtInRoles, type BuiltInRole, type Permission } from '../../core/operators/permissions.js'
import { startOperatorServer, type OperatorServer } from '../support/server/operator-server.js'

const nothing = () => ({ status: 200, headers: {} })

/** Every route of the admin listener, by what it declares. */
const routes = createAdminEndpoints({ reload: nothing } as never, () => nothing).filter(
  ({ permission }) => permission !== 'none' && permission !== 'handoff.answer',
)

const roles = Object.keys(builtInRoles) as BuiltInRole[]

let server: OperatorServer
const tokens = new Map<string, string>()
beforeAll(async () => {
  server = await startOperatorServer({ log: noLog })
  for (const role of roles) tokens.set(role, await server.issueToken(role, [role]))
})
afterAll(() => server[Symbol.asyncDispose]())

/** Ids name nothing, and bodies are empty, so nothing changes even where somebody may change it. */
const send = (route: (typeof routes)[number], role?: string) => {
  const { path, methods, body } = route
  const [method] = methods
  const type = body === 'json' ? 'application/json' : 'application/x-www-form-urlencoded'
  return fetch(`${server.admin}${path.replaceAll(/\{\w+\}/g, 'nobody')}`, {
    method,
    redirect: 'manual',
    headers: {
      // Such a request is not one of a program on the host.
      'Sec-Fetch-Site': 'same-origin',
      ...(role !== undefined && { Authorization: `Bearer ${tokens.get(role)!}` }),
      ...(method !== 'GET' && body !== 'none' && { 'Content-Type': type }),
    },
    ...(method !== 'GET' && body !== 'none' && { body: body === 'json' ? '{}' : '' }),
  })
}

const isPermitted = (role: BuiltInRole, permission: string): boolean =>
  permission === 'operator' || (builtInRoles[role] as readonly Permission[]).includes(permission as Permission)

describe('every route of the admin listener (AD40)', () => {
  it('is there to try', () => {
    expect(routes.length).toBeGreaterThan(40)
  })

  it.each(roles)('is open to the role %s if it has the permission, and refused on the record if not', async (role) => {
    const refused: unknown[] = []
    for (const route of routes) {
      const { path, methods, permission } = route
      const { status } = await send(route, role)
      const cell = `${role} ${methods[0]} ${path}`
      if (isPermitted(role, permission)) expect([401, 403], cell).not.toContain(status)
      else {
        expect(status, cell).toBe(403)
        refused.push({ permission, route: path, method: methods[0], operator: role })
      }
    }
    const recorded = (await server.audit()).flatMap((event) => {
      const by = event['by'] as { readonly operator?: string } | undefined
      if (event['event'] !== 'operator.refused' || by?.operator !== role) return []
      return [
        { permission: event['permission'], route: event['route'], method: event['method'], operator: by.operator },
      ]
    })
    expect(recorded).toEqual(refused)
  })

  it('is closed without a credential, and with one that is none', async () => {
    tokens.set('forged', `signet_op_${'A'.repeat(12)}_${'A'.repeat(43)}`)
    for (const route of routes)
      for (const role of [undefined, 'forged']) {
        const { status, headers } = await send(route, role)
        const where = `${route.methods[0]} ${route.path}`
        if (route.errorTitle === undefined) expect(status, where).toBe(401)
        else expect([status, headers.get('location')], where).toEqual([303, '/console/sign-in'])
      }
  })
})
