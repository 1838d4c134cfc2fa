/** Transcripts of ceremonies that somebody has changed. */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { auditKey, both, grace, people, slot, useCeremonies } from '../support/server/key-ceremonies.js'

const its = useCeremonies()

describe('KR48 a transcript that was edited by hand', () => {
  const edits: readonly (readonly [string, string, (text: string) => string, RegExp])[] = [
    [
      'a name in the JSON',
      'transcript.json',
      (text) => text.replace(grace, 'Mary Shelley'),
      /transcript\.json: it is not the file that was signed/,
    ],
    [
      'a fact in the JSON',
      'transcript.json',
      (text) => text.replace(/"path": "[^"]*"/, '"path": "/hsm"'),
      /the digest of directory is not that of what it has/,
    ],
    [
      'the text',
      'transcript.txt',
      (text) => text.replace('witness', 'auditor'),
      /transcript\.txt: it is not the file that was signed/,
    ],
    [
      'the signature',
      'transcript.jwt',
      (text) => text.replace(/\.[\w-]{4}(?=[\w-]*\n$)/, '.AAAA'),
      /the signature does not verify/,
    ],
    ['no JSON at all', 'transcript.json', () => '[', /transcript\.json: it is no transcript/],
    [
      'JSON that is nested too deeply',
      'transcript.json',
      (text) => text.replace(/"path": "[^"]*"/, `"path": ${'['.repeat(50_000)}${']'.repeat(50_000)}`),
      /transcript\.json: it is no transcript/,
    ],
  ]
  it('is found, as is a folder with files of two ceremonies', async () => {
    await its.deploy([auditKey, slot])
    for (const out of ['one', 'two'])
      expect(await its.hold(`signer: local\nslot: es\n${people}`, both, '--out', out)).toMatchObject({ code: 0 })
    for (const [what, name, edit, found] of edits) {
      const whole = its.read('one', name)
      expect(edit(whole), what).not.toBe(whole)
      writeFileSync(its.inFolder('one', name), edit(whole))
      expect(await its.verify('one'), what).toMatchObject({ code: 1, stderr: expect.stringMatching(found) })
      writeFileSync(its.inFolder('one', name), whole)
    }
    expect(await its.verify('one')).toMatchObject({ code: 0 })
    writeFileSync(its.inFolder('one', 'transcript.jwt'), its.read('two', 'transcript.jwt'))
    expect(await its.verify('one')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('of another ceremony than transcript.json'),
    })
    const { publicKey } = generateKeyPairSync('ed25519')
    await its.cli.write('others.json', JSON.stringify(publicKey.export({ format: 'jwk' })))
    expect(await its.verify('two', '--key', 'others.json')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('which is not among yours'),
    })
    expect(await its.verify('nothing', '--json')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('transcript.json: missing'),
    })
  })
})
