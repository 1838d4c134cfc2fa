import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { readDocument } from '../support/document.js'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startOperatorServer, type OperatorServer } from '../support/server/operator-server.js'
import { openAll, withEverything } from '../support/server/opened.js'
import { person } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { recipes } from '../support/services/recipes.js'

const run = promisify(execFile)

/** The checks of an answer against the document. */
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
]

describeWith(['admin-api recipe'], 'the admin API, as schemathesis calls it', () => {
  let server: OperatorServer
  beforeAll(async () => {
    let calls = 0
    // Each reading of the clock is later, so that the limit of requests in a minute refuses none.
    server = await startOperatorServer({ configure: withEverything, clock: () => Date.now() + 20 * calls++ })
    const operator = await server.as('operator')
    for (const name of ['ada', 'bob', 'cy'])
      await operator('/people', {
        method: 'POST',
        body: { username: name, sub: `${name}-1`, password: 'correct horse battery', claims: { name } },
      })
    await openAll(server.issuer, person)
    await openAll(server.issuer, { username: 'ada', password: 'correct horse battery' })
  })
  afterAll(() => server?.[Symbol.asyncDispose]())

  it('answers as its document says, and with no 5xx', async () => {
    const token = await server.issueToken('schemathesis', ['operator', 'key_custodian'])
    const program = join(recipes['admin-api'].folder, 'venv/bin/st')
    const judged = await run(
      program,
      [
        ...['run', `${server.admin}/api/v1/openapi.json`, '--header', `Authorization: Bearer ${token}`],
        ...['--checks', checks.join(','), '--phases', 'examples,coverage,fuzzing', '--max-examples', '15'],
        ...['--generation-deterministic', '--no-color', '--continue-on-failure'],
        // Reloading and the configuration's file are not this operator's.
        ...['--exclude-path-regex', 'configuration/reload'],
      ],
      { cwd: server.directory, maxBuffer: 64 * 1024 * 1024 },
    ).catch((error: { stdout?: string; stderr?: string }) => error)
    expect(`${judged.stdout}${judged.stderr}`).toMatch(/No issues found|passed/)
    expect(`${judged.stdout}`).not.toMatch(/FAILURES|ERRORS/)
    await rm(join(server.directory, '.schemathesis'), { recursive: true, force: true })
  })
})

describeWith(['openapi-typescript recipe'], 'the admin API, as openapi-typescript understands it', () => {
  let server: OperatorServer
  beforeAll(async () => {
    server = await startOperatorServer()
  })
  afterAll(() => server?.[Symbol.asyncDispose]())

  it('a client generated from the document compiles and runs', async () => {
    const { folder: cwd } = recipes['openapi-typescript']
    const { body } = await (await server.as('operator'))('/openapi.json')
    await writeFile(join(cwd, 'openapi.json'), JSON.stringify(body))
    await writeFile(join(cwd, 'program.ts'), readDocument('test/support/recipes/openapi-typescript/program.ts.txt'))
    const node = (...args: readonly string[]) =>
      run(process.execPath, args, { cwd }).catch((error: { stdout: string; stderr: string }) => error)
    await node('node_modules/openapi-typescript/bin/cli.js', 'openapi.json', '--output', 'api.d.ts')
    const compiled = await node(
      ...['node_modules/typescript/bin/tsc', '--strict', '--module', 'nodenext', '--target', 'es2022'],
      ...['--lib', 'es2022,dom', 'program.ts'],
    )
    expect(compiled.stdout).toBe('')
    const token = await server.issueToken('client', ['operator'])
    const { stdout, stderr } = await node('program.js', `${server.admin}/api/v1`, token)
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual(['generated', 'generated-1', 'changed_meanwhile'])
  })
})
