import { afterAll, beforeAll, expect, it } from 'vitest'
import { linkPackages } from '../support/document.js'
import { configuration, openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'

const grantType = 'urn:bank.example:grant:loan'
const secret = 'branch-secret-of-more-than-256-bits-for-tests'

/** It waits for as many requests as it is told to, so that they overlap, and logs on both sides of the wait. */
const plugin = `
import { definePlugin, Unavailable } from 'signet-idp'
let waiting = []
export default definePlugin({
  name: 'loan',
  apiVersion: 1,
  needs: ['log'],
  create: (_options, { log }) => {
    log.info('The plugin was created.')
    return {
      grants: [{
        grantType: '${grantType}',
        async handle({ params }) {
          const loan = params.get('loan')
          log.info('The loan is looked up.', { loan })
          if (loan === 'down') throw new Unavailable('loan-service', 'no', 'The loan service does not answer.')
          await new Promise((resolve) => {
            waiting.push(resolve)
            if (waiting.length === 3) for (const go of waiting.splice(0)) go()
          })
          log.warn('The loan was found.', { loan, plugin: 'another', request_id: 'another' })
          return { subject: loan, scope: [] }
        },
      }],
    }
  },
})
`

let cli: CommandLine
let service: Service
beforeAll(async () => {
  cli = await openCommandLine()
  linkPackages(cli.folder)
  await cli.write('loan.mjs', plugin)
  const client = `{ client_id: branch, client_secret: ${secret}, grant_types: ['${grantType}', client_credentials], scope: api }`
  await cli.write('signet.yaml', configuration(`  - { use: ./loan.mjs }\nclients: [${client}]\n`))
  service = await cli.serve(['start', '--config', 'signet.yaml'])
})
afterAll(() => cli[Symbol.asyncDispose]())

const ask = async (loan: string) => {
  const response = await fetch(new URL('/token', service.public), {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`branch:${secret}`)}` },
    body: new URLSearchParams({ grant_type: grantType, loan }),
  })
  return { status: response.status, requestId: response.headers.get('x-request-id') }
}

const lines = (message: string) =>
  service
    .output()
    .split('\n')
    .filter((line) => line.includes(`"msg":"${message}"`))
    .map((line) => JSON.parse(line) as Record<string, unknown>)

it('names the plugin and the request in each line of a plugin, also where requests overlap', async () => {
  const answers = await Promise.all(['L-1', 'L-2', 'L-3'].map(async (loan) => ({ loan, ...(await ask(loan)) })))
  await expect.poll(() => lines('The loan was found.').length).toBe(3)
  for (const { loan, status, requestId } of answers) {
    expect(status).toBe(200)
    for (const message of ['The loan is looked up.', 'The loan was found.'])
      expect(lines(message).find((line) => line['loan'] === loan)).toMatchObject({
        plugin: 'loan',
        request_id: requestId,
      })
  }
  const [created] = lines('The plugin was created.')
  expect(created).toMatchObject({ plugin: 'loan' })
  expect(created).not.toHaveProperty('request_id')
})

it('counts a request that the outage of a plugin’s service failed', async () => {
  const { status, requestId } = await ask('down')
  expect(status).toBe(503)
  await expect
    .poll(() => lines('A request failed because of an outage'))
    .toEqual([expect.objectContaining({ component: 'loan-service', request_id: requestId })])
  const metrics = await (await fetch(new URL('/metrics', service.admin))).text()
  expect(metrics).toMatch(/^signet_outages_total\{component="loan-service",issuer="[^"]+"\} 1$/m)
})
