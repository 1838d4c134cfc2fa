import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { checkTimeStamp } from '../../core/operate/time-stamps/check-time-stamp.js'
import { createTimeStampQuery, fetchTimeStamp } from '../../core/operate/time-stamps/time-stamp-query.js'
import { createOutboundFetch } from '../../core/outbound/outbound-fetch.js'
import { openTimeStampAuthority } from '../support/server/time-stamp-authority.js'
import { describeWith } from '../support/services/describe-with.js'

const content = Buffer.from('a manifest')
const fetchFrom = createOutboundFetch({ allowPrivateAddresses: true, deadlineMs: 10_000 })

describeWith('openssl', 'a time stamp', () => {
  it.each([
    { curve: false, essHash: 'sha256' },
    { curve: true, essHash: 'sha512' },
    { curve: true, essHash: 'sha1' },
  ] as const)('of an authority with %o is accepted, and of no other content or question', async (options) => {
    await using authority = await openTimeStampAuthority(options)
    const anchors = await readFile(authority.ca, 'utf8')
    const stamp = await fetchTimeStamp(fetchFrom, authority.url, content)
    expect(await checkTimeStamp(stamp, content, anchors)).toMatchObject({ faults: [], isTrusted: true })
    expect(await checkTimeStamp(stamp, content)).toMatchObject({ faults: [], isTrusted: false })
    expect(await checkTimeStamp(stamp, Buffer.from('another'), anchors)).toMatchObject({
      faults: ['it is for another content'],
      isTrusted: false,
    })
    const asked = { ...stamp, query: createTimeStampQuery(content) }
    expect((await checkTimeStamp(asked, content)).faults).toEqual(['its nonce is not the one of the question'])
    const other = await readFile(authority.otherCa, 'utf8')
    expect(await checkTimeStamp(stamp, content, other)).toMatchObject({
      faults: [expect.stringContaining('no trust anchor')],
      isTrusted: false,
    })
  })

  it('KR70: in which a byte was changed is refused, or says the same', async () => {
    await using authority = await openTimeStampAuthority({ curve: true })
    const anchors = await readFile(authority.ca, 'utf8')
    const stamp = await fetchTimeStamp(fetchFrom, authority.url, content)
    const whole = await checkTimeStamp(stamp, content, anchors)
    let accepted = 0
    for (let index = 0; index < stamp.response.length; index += 3) {
      const response = Uint8Array.from(stamp.response)
      response[index] = (response[index] ?? 0) ^ 0x01
      const found = await checkTimeStamp({ ...stamp, response }, content, anchors)
      if (!found.isTrusted) continue
      accepted++
      expect(found.time).toBe(whole.time)
      expect(found.authority).toBe(whole.authority)
    }
    // What is signed by nobody: the certificate of the root, and names of versions and hashes.
    expect(accepted).toBeLessThan(stamp.response.length / 9)
    for (const length of [0, 1, 10, stamp.response.length - 1])
      expect(
        (await checkTimeStamp({ ...stamp, response: stamp.response.subarray(0, length) }, content)).faults,
      ).not.toEqual([])
  })

  it('KR70: of an authority whose root is for something else is refused, and so is one that is its own root', async () => {
    await using authority = await openTimeStampAuthority({ caUsage: 'serverAuth' })
    const stamp = await fetchTimeStamp(fetchFrom, authority.url, content)
    const check = async (file: string) => checkTimeStamp(stamp, content, await readFile(file, 'utf8'))
    expect(await check(authority.ca)).toMatchObject({
      faults: [expect.stringContaining('an authority is not for the extended key usage')],
      isTrusted: false,
    })
    const leaf = authority.ca.replace('ca.pem', 'tsa.pem')
    expect(await check(leaf)).toMatchObject({ faults: [expect.any(String)], isTrusted: false })
  })
})
