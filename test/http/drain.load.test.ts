import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configuration, openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
})
afterAll(() => cli[Symbol.asyncDispose]())

const serve = async (delaySeconds: number, name: string): Promise<Service> => {
  const client =
    '{ client_id: svc, client_secret: a-secret-for-this-test-of-256-bits, grant_types: [client_credentials] }'
  const more = `clients: [${client}]\nshutdown: { delay_secs: ${String(delaySeconds)} }\nstorage: ${storage(name)}`
  await cli.write(`${name}.yaml`, configuration(more))
  return cli.serve(['start', '--config', `${name}.yaml`])
}
const storage = (name: string): string => {
  const backend = `{ use: embedded, options: { path: ./${name} } }`
  return `{ records: ${backend}, ephemeral: ${backend} }`
}

const form = 'grant_type=client_credentials'
const authorization = `Basic ${btoa('svc:a-secret-for-this-test-of-256-bits')}`
const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded', 'content-length': form.length }

const askToken = (service: Service, agent: Agent): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service.public)
    const asked = request({ hostname, port, path: '/token', method: 'POST', headers, agent }, (response) => {
      text(response).then(() => resolve(response), reject)
    })
    asked.once('error', reject)
    asked.end(form)
  })

const isReady = async (service: Service): Promise<boolean> => (await fetch(`${service.admin}/health/ready`)).ok

describe('F31: SIGTERM under load', () => {
  it('fails no request of clients that keep connections open and heed readiness', async () => {
    const service = await serve(2, 'load')
    const agent = new Agent({ keepAlive: true, maxSockets: 8 })
    const balancer = { sends: true }
    const answers: { readonly status: number | undefined; readonly close: boolean; readonly afterSignal: boolean }[] =
      []
    const failures: unknown[] = []
    let signalled = false
    const client = async (): Promise<void> => {
      while (balancer.sends) {
        const afterSignal = signalled
        await askToken(service, agent).then(
          ({ statusCode: status, headers: { connection } }) =>
            answers.push({ status, close: connection === 'close', afterSignal }),
          (error: unknown) => failures.push(error),
        )
      }
    }
    const clients = Promise.all(Array.from({ length: 8 }, client))
    await expect.poll(() => answers.length).toBeGreaterThan(100)

    signalled = true
    service.child.kill('SIGTERM')
    const looks = (async () => {
      while (await isReady(service)) await setTimeout(20)
      // A balancer does not believe the first one.
      const seen = answers.length
      await expect.poll(() => answers.length).toBeGreaterThan(seen + 50)
      balancer.sends = false
    })()
    await Promise.all([looks, clients])
    agent.destroy()
    expect(await service.ended).toBe(0)
    expect(failures).toEqual([])
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const drained = answers.filter(({ afterSignal }) => afterSignal)
    expect(drained.filter(({ close }) => close).length).toBeGreaterThan(50)
    expect(answers.filter(({ close, afterSignal }) => close && !afterSignal).length).toBeLessThanOrEqual(8)
  })

  it('finishes requests in flight, and accepts no new ones', async () => {
    const service = await serve(0, 'flight')
    const { hostname, port } = new URL(service.public)
    const slow = connect(Number(port), hostname)
    const head = `POST /token HTTP/1.1\r\nHost: x\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${String(value)}\r\n`)
      .join('')}\r\n`
    slow.write(head + form.slice(0, 20))
    // The server has the head when it has answered a request that came after it.
    await askToken(service, new Agent({ keepAlive: false }))
    service.child.kill('SIGTERM')
    await service.printed('stopping')
    await expect.poll(() => isRefused(Number(port), hostname)).toBe(true)
    slow.write(form.slice(20))
    const answer = await text(slow)
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(answer).toMatch(/^connection: close\r$/im)
    expect(await service.ended).toBe(0)
  })

  it('ends at once on a second signal, in the delay too', async () => {
    const service = await serve(20, 'twice')
    service.child.kill('SIGTERM')
    await service.printed('stopping')
    expect(await isReady(service)).toBe(false)
    expect((await askToken(service, new Agent())).statusCode).toBe(200)
    service.child.kill('SIGTERM')
    expect(await service.ended).toBe(143)
  })
})

const isRefused = async (port: number, host: string): Promise<boolean> => {
  const socket = connect(port, host)
  try {
    await once(socket, 'connect')
    return false
  } catch {
    return true
  } finally {
    socket.destroy()
  }
}
