import { execFile } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { startOperatorServer, type OperatorServer } from '../support/server/operator-server.js'

const run = promisify(execFile)
const keep = disposeAfterAll()
let server: OperatorServer
beforeAll(async () => {
  server = keep(await startOperatorServer())
  await mkdir(join(server.directory, 'node_modules'))
  await symlink(packageRoot, join(server.directory, 'node_modules/signet-idp'))
  await writeFile(join(server.directory, 'package.json'), '{ "type": "module" }')
})

/** A program by someone who has read the types alone. */
const program = `
import { AdminProblem, createAdminClient } from 'signet-idp/admin'

const [url = '', token = ''] = process.argv.slice(2)
const admin = createAdminClient({ url, token, fetch: (input, init) => (calls.push(init?.method ?? ''), fetch(input, init)) })
const calls: string[] = []
const { data: created } = await admin.createPerson({ body: { username: 'ann', sub: 'a/n n?'.replaceAll(' ', ''), password: 'four words in a row' } })
const { data: person, etag = '' } = await admin.readPerson({ sub: created.sub })
const changed = await admin.updatePerson({ sub: person.sub, ifMatch: etag, body: { claims: { name: 'Ann' } } })
const refused = await admin.updatePerson({ sub: person.sub, ifMatch: etag, body: { disabled: true } }).catch((error: unknown) => error)
const people: string[] = []
for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
  const { data } = await admin.listPeople({ query: { limit: 1, ...(cursor !== undefined && { cursor }) } })
  people.push(...data.items.map(({ username = '' }) => username))
  cursor = data.next_cursor
}
const gone = await admin.deletePerson({ sub: person.sub, ifMatch: changed.etag ?? '' })
const down = await createAdminClient({ url: 'http://127.0.0.1:1', token }).listClients().catch((error: Error) => error.name)
console.log(JSON.stringify({
  people, calls, status: gone.status, down,
  refused: refused instanceof AdminProblem && { status: refused.status, code: refused.code, id: typeof refused.requestId },
}))
`

const compile = (file: string) =>
  run(
    process.execPath,
    [
      join(packageRoot, 'node_modules/typescript/bin/tsc'),
      ...[
        '--strict',
        '--exactOptionalPropertyTypes',
        '--module',
        'nodenext',
        '--target',
        'es2023',
        '--skipLibCheck',
        'false',
      ],
      ...['--types', 'node', '--typeRoots', join(packageRoot, 'node_modules/@types'), '--lib', 'es2023', file],
    ],
    { cwd: server.directory },
  ).catch((error: { stdout: string }) => error)

describe('signet-idp/admin', () => {
  it('compiles from its types alone, and calls a server', async () => {
    await writeFile(join(server.directory, 'program.ts'), program)
    expect((await compile('program.ts')).stdout).toBe('')
    const token = await server.issueToken('client', ['operator'])
    const { stdout } = await run(process.execPath, ['program.js', server.admin, token], { cwd: server.directory })
    expect(JSON.parse(stdout)).toEqual({
      people: ['alice', 'ann'],
      calls: ['POST', 'GET', 'PATCH', 'PATCH', 'GET', 'GET', 'DELETE'],
      ...{ status: 204, down: 'TypeError', refused: { status: 412, code: 'changed_meanwhile', id: 'string' } },
    })
  })

  it('refuses a program that misses a member, or names one that does not exist', async () => {
    const wrong = [
      'admin.readPerson({})',
      "admin.updatePerson({ sub: 'a', body: {} })",
      "admin.createPerson({ body: { password: 'x' } })",
      'admin.listPeople({ query: { page: 2 } })',
      "(await admin.readPerson({ sub: 'a' })).data.password",
    ]
    const head = "import { createAdminClient } from 'signet-idp/admin'\nconst admin = createAdminClient({ url: '' })\n"
    await writeFile(join(server.directory, 'wrong.ts'), `${head}${wrong.map((line) => `void (${line})`).join('\n')}\n`)
    const { stdout } = await compile('wrong.ts')
    const lines = new Set([...stdout.matchAll(/wrong\.ts\((\d+),/g)].map(([, line]) => Number(line) - 3))
    expect([...lines].toSorted()).toEqual(wrong.map((_, index) => index))
  })
})
