import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'

// The directory of a company, which directory.js asks, and the page to which its application has people sent back.

const alice = { username: 'alice', password: 'correct horse', id: 'directory-7', claims: { name: 'Alice Adams' } }

const find = (path, { username, password, id }) => {
  if (path === '/authenticate') return username === alice.username && password === alice.password
  return path === '/person' && id === alice.id
}

createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://127.0.0.1')
  if (pathname === '/signed-in') return response.end('Signed in. The address has the code for the application.')
  if (request.headers.authorization !== 'Bearer known-to-all-who-read-this-example')
    return response.writeHead(401).end()
  if (!find(pathname, await json(request))) return response.writeHead(404).end()
  response.end(JSON.stringify({ id: alice.id, claims: alice.claims }))
}).listen(3002, '127.0.0.1')
