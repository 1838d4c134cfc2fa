import { expect, it } from 'vitest'
import { createOutboundFetch } from '../../core/outbound/outbound-fetch.js'

const hosts = [
  '127.0.0.1',
  '10.0.0.1',
  '169.254.169.254',
  '192.168.1.1',
  '172.31.0.1',
  '100.64.0.1',
  '0.0.0.0',
  '0x7f.1',
]
const hosts6 = ['[::1]', '[::]', '[::ffff:127.0.0.1]', '[fd00::1]', '[fe80::1]', '[2002:7f00:1::]', '[64:ff9b::a00:1]']

it.each([...hosts, '2130706433', 'localhost', ...hosts6])('F35 nothing is fetched from %s', async (host) => {
  const fetch = createOutboundFetch({ allowPrivateAddresses: false })
  await expect(fetch(`https://${host}:1/jwks`, 'application/json')).rejects.toThrow('the address is private')
})
