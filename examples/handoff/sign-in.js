import express from 'express'
import { createRemoteJWKSet, errors, jwtVerify } from 'jose'

// The sign-in of an organisation, which Signet hands people off to, and the page to which its application has them sent back.

const issuer = 'http://localhost:3000'
const admin = 'http://127.0.0.1:3001'
const adminToken = 'known-to-all-who-read-this-example'
const ownUrl = 'http://localhost:3002/start'
const alice = { username: 'alice', password: 'correct horse', subject: 'employee-7', claims: { name: 'Alice Adams' } }

const keys = createRemoteJWKSet(new URL(`${issuer}/jwks.json`))

/** What Signet asks for. Throws for whatever Signet did not sign for this service within the last five minutes. */
const readRequest = async (request) => {
  const { payload } = await jwtVerify(request, keys, { issuer, audience: ownUrl, typ: 'handoff+jwt' })
  return payload
}

/** Tells Signet, server to server, and returns where the browser goes: exactly there, because the address has a secret. */
const answer = async ({ interaction }, verb, body) => {
  const response = await fetch(`${admin}/interactions/${interaction}/${verb}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const { redirect_to, error_description } = await response.json()
  if (!response.ok) throw Object.assign(new Error(error_description), { status: response.status })
  return redirect_to
}

const escape = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)

const form = (request, { client_name = 'this application' }, problem = '') => `<!doctype html><html lang="en">
<meta name="viewport" content="width=device-width"><title>Sign in</title>
<h1>Sign in to ${escape(client_name)}</h1><p>You asked for this a moment ago. If you did not, cancel.</p><p role="alert">${problem}</p>
<form method="post"><input type="hidden" name="request" value="${escape(request)}">
<label>Name <input name="username"></label> <label>Password <input name="password" type="password"></label>
<button>Sign in</button> <button name="cancel" value="1">Cancel</button></form>`

const app = express().use(express.urlencoded({ extended: false }))

app.get('/start', async (http, reply) => {
  const request = String(http.query.request)
  reply.send(form(request, await readRequest(request)))
})

app.post('/start', async (http, reply) => {
  const { request, username, password, cancel } = http.body ?? {}
  const asked = await readRequest(request)
  if (cancel) return reply.redirect(303, await answer(asked, 'refuse', { reason: 'cancelled' }))
  if (username !== alice.username || password !== alice.password)
    return reply.status(403).send(form(request, asked, 'The name or the password is wrong.'))
  const { subject, claims } = alice
  const address = http.ip
  const auth_time = Math.floor(Date.now() / 1000)
  reply.redirect(303, await answer(asked, 'sign-in', { subject, claims, amr: ['pwd'], auth_time, address }))
})

app.get('/signed-in', (_, reply) => reply.send('Signed in. The address has the code for the application.'))

/** Signet did not ask for this, or has its answer already. */
const isOver = (error) => error instanceof errors.JOSEError || [404, 409].includes(error.status)

app.use((error, http, reply, next) => {
  if (!isOver(error)) return next(error)
  reply.status(400).send('This sign-in is over. Go back to the application and begin again.')
})

app.listen(3002, 'localhost')
