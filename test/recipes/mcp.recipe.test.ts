import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { openRecipe, person, subject, type Recipe } from '../support/recipes/recipe.js'
import { describeWith } from '../support/services/describe-with.js'
import { recipes } from '../support/services/recipes.js'

const redirectUri = 'http://localhost:8090/callback'

/** What a client of an SDK prints, line by line, and what it is told. */
const drive = (child: ChildProcessWithoutNullStreams) => {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    next: async (): Promise<string> => {
      const { value, done } = await lines.next()
      if (done === true) throw new Error('The client ended.')
      return String(value)
    },
    say: (text: string) => void child.stdin.write(`${text}\n`),
  }
}

describeWith(['mcp recipe', 'mcp-python recipe'], 'docs/recipes/mcp.md', () => {
  let recipe: Recipe
  let url: string
  const running: ChildProcessWithoutNullStreams[] = []
  beforeAll(async () => {
    // A token that lasts for a second is over at the next call, sooner or later.
    recipe = await openRecipe('mcp', ['mcp.yaml', 'server.mjs'], { seconds: 1, config: 'mcp.yaml' })
    url = `${recipe.api}/mcp`
    await copyFile(join(packageRoot, 'test/support/recipes/mcp/client.mjs'), join(recipe.folder, 'client.mjs'))
    await recipe.start('The server')
  })
  afterEach(async () => {
    for (const child of running.splice(0)) {
      const closed = once(child, 'close')
      child.kill()
      await closed
    }
  })
  afterAll(() => recipe?.[Symbol.asyncDispose]())

  const clients: Record<string, () => readonly [string, ...string[]]> = {
    TypeScript: () => [process.execPath, join(recipe.folder, 'client.mjs'), url, redirectUri],
    'TypeScript, as a public client': () => [
      process.execPath,
      join(recipe.folder, 'client.mjs'),
      url,
      redirectUri,
      'none',
    ],
    Python: () => [
      join(recipes['mcp-python'].folder, 'venv/bin/python'),
      join(packageRoot, 'test/support/recipes/mcp-python/client.py'),
      url,
      redirectUri,
    ],
  }

  it.each(Object.keys(clients))('the SDK for %s registers, signs in, calls a tool and renews', async (name) => {
    const [program, ...args] = clients[name]!()
    const before = (await recipe.events('token.issued')).length
    const child = spawn(program, args, { cwd: recipe.folder, stdio: ['pipe', 'pipe', 'inherit'] }) as never
    running.push(child)
    const client = drive(child)
    const [verb, at = ''] = (await client.next()).split(' ')
    expect(verb).toBe('authorize')
    expect(new URL(at).searchParams.get('resource')).toBe(url)
    const asked = new URL(at).searchParams.get('scope')?.split(' ') ?? []
    expect(asked).not.toContain('openid')
    const left = await new UserAgent().authorize(at, person)
    const answer = ['code', 'state', 'iss'].map((member) => left.searchParams.get(member) ?? '')
    client.say(name === 'Python' ? answer.join(' ') : answer[0]!)
    expect(await client.next()).toBe('connected')
    const issued = async () => (await recipe.events('token.issued')).slice(before).map(({ grant_type }) => grant_type)
    await expect
      .poll(
        async () => {
          client.say('call')
          expect(await client.next()).toBe(`whoami ${subject}`)
          return issued()
        },
        { timeout: 20_000 },
      )
      .toEqual(expect.arrayContaining(['authorization_code', 'refresh_token']))
  })

  it('refuses no token, what is none, and says where to get one', async () => {
    for (const headers of [{}, { authorization: 'Bearer x' }]) {
      const response = await fetch(url, { method: 'POST', headers, body: '{}' })
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toContain(
        `${recipe.api}/.well-known/oauth-protected-resource/mcp`,
      )
    }
  })
})
