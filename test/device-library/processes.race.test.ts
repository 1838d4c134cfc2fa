import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fileKey, fileStore } from '../../libraries/device/node/index.js'
import { packageRoot } from '../../core/package-root.js'
import { issued, newDevice, reissueAfter, server, setUpServer } from './set-up.js'

setUpServer()

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signet-device-'))
})
afterAll(() => rm(folder, { recursive: true }))

it.each(['nobody', 'a process that died'])('four processes renew one device once, behind %s', async (before) => {
  const path = join(folder, before)
  const options = { store: fileStore(path), key: await fileKey(`${path}.pem`) }
  const { device, enrolment, name } = newDevice(options)
  await device.enrol(enrolment)
  const first = await device.attestation()
  server.host.later(reissueAfter * 1200)
  const dead = { token: 'dead', host: hostname(), pid: process.pid, started: '1' }
  if (before !== 'nobody') await writeFile(`${path}.lock`, JSON.stringify(dead))

  const ahead = String((server.host.now() - Date.now()) / 1000)
  const script = join(packageRoot, 'test/device-library/renewing-process.js')
  const children = Array.from({ length: 4 }, () => fork(script, [server.issuer, path, ahead], { execArgv: [] }))
  try {
    await Promise.all(children.map((child) => once(child, 'message')))
    const answers = children.map(async (child) => String((await once(child, 'message'))[0]))
    for (const child of children) child.send('go')
    const renewed = await Promise.all(answers)
    expect(new Set(renewed).size).toBe(1)
    expect(renewed[0]).not.toBe(first)
    expect(await issued(name)).toEqual(['enrolment', 'renewal'])
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
})
