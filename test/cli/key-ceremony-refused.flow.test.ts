/** Ceremonies that are refused before a key is made. */
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { doubleRegion, startKmsDouble } from '../../core/testing/kms-double/index.js'
import { mountSmallDisk } from '../support/stores/small-disk.js'
import { ada, auditKey, both, people, slot, useCeremonies } from '../support/server/key-ceremonies.js'

const its = useCeremonies()

describe('what is wrong with a ceremony', () => {
  it('KR42 is said all at once, with paths and lines, before anybody is asked', async () => {
    await its.deploy([slot])
    mkdirSync(its.inFolder('there'))
    writeFileSync(its.inFolder('there', 'file'), '')
    const refused = await its.hold(`signer: locl\nslot: ess\nalg: RS256\n${people}`, both, '--out', 'there')
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('signer: there is no signer with this name; did you mean local? (line 1)')
    expect(refused.stderr).toContain('slot: there is no slot with this name; did you mean es? (line 2)')
    expect(refused.stderr).toContain('the configuration has no key with the purpose audit, which signs the transcript')
    expect(refused.stderr).toContain('--out: exists already and is not empty')
    expect(refused.stderr).not.toContain(ada)
    const mismatch = await its.hold(`signer: local\nslot: es\nalg: RS256\n${people}`)
    expect(mismatch.stderr).toContain('alg: the keys of the slot sign ES256 (line 3)')
    expect(its.auditLines().map(({ event }) => event)).toEqual([
      ...['administration.begun', 'key.ceremony_refused', 'administration.begun', 'key.ceremony_refused'],
    ])
  })

  it.each([
    [
      'a slot and a kid',
      'slot: es\nkid: es-x\nalg: ES256',
      'kid: is for a key without a slot: name either slot or kid',
    ],
    ['neither of them', 'alg: ES256', 'names neither a slot nor a kid'],
    ['a ref of a slot', 'slot: es\nref: mine', 'ref: is what the slot says: remove it'],
    ['a kid without an algorithm', 'kid: x', 'alg: is required for a key without a slot'],
    ['a kid of the file', 'kid: ed-1\nalg: EdDSA', 'kid: the configuration already has this key'],
    ['a kid of a slot', 'kid: es-7\nalg: ES256', 'kid: is a name that the slot es gives to its keys'],
    [
      'a name twice',
      `slot: es\npresent:\n  - { name: ${ada}, role: a }\n  - { name: ada lovelace, role: b }`,
      'present[1].name: is also the name of present[0]',
    ],
    ['nobody', 'slot: es\npresent: []', 'present: must name at least one person'],
    ['a misspelt member', 'slot: es\ntitel: A', 'titel: unknown key; did you mean `title`?'],
  ])('%s is refused', async (_what, lines, message) => {
    await its.deploy([auditKey, slot])
    const file = lines.includes('present:') ? `signer: local\n${lines}\n` : `signer: local\n${lines}\n${people}`
    expect(await its.hold(file)).toMatchObject({ code: 1, stderr: expect.stringContaining(message) })
  })

  it.each([
    ['an escape of the terminal', '"Ada \\u001b[2J Lovelace"'],
    ['a line break', '"Ada\\nGrace"'],
    ['text that runs backwards', '"Ada \\u202e ecalevoL"'],
    ['an invisible character', '"Ada\\u200b Lovelace"'],
  ])('KR41 a name with %s is refused, and is not shown', async (_what, name) => {
    await its.deploy([auditKey, slot])
    const file = `signer: local\nslot: es\npresent:\n  - { name: ${name}, role: witness }\n`
    const refused = await its.hold(file)
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^present\[0\]\.name: must be 1 to 80 visible characters/m),
    })
    expect(refused.stderr).not.toContain('ecalevoL')
    expect(refused.stderr).not.toContain('\u001b')
  })

  it('KR44 a folder on a full disk, below a file or without a parent is found before the key is made', async () => {
    await its.deploy([auditKey, slot])
    const file = `signer: local\nslot: es\n${people}`
    writeFileSync(its.inFolder('plain'), '')
    for (const [out, why] of [
      ['plain/below', 'it is not a folder, or its parent is none'],
      ['plain', 'it is not a folder'],
      ['no/such/parent', 'its parent does not exist'],
    ] as const)
      expect(await its.hold(file, both, '--out', out)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`--out: no transcript can be written there: ${why}`),
      })
    using disk = mountSmallDisk('512k')
    if (disk !== undefined) {
      disk.fill()
      const full = await its.hold(file, both, '--out', join(disk.path, 'out'))
      expect(full).toMatchObject({ code: 1, stderr: expect.stringContaining('the disk is full') })
      expect(existsSync(join(disk.path, 'out'))).toBe(false)
    }
    expect(existsSync(its.inFolder('data/keys'))).toBe(false)
  })

  it('KR45 a name that the backend has is found before anybody is asked', async () => {
    await its.deploy([auditKey, slot])
    expect(await its.hold(`signer: local\nkid: a\nalg: ES256\n${people}`, both, '--out', 'a')).toMatchObject({
      code: 0,
    })
    for (const file of ['kid: b\nalg: ES256\nref: a', 'kid: a\nalg: ES256'])
      expect(await its.hold(`signer: local\n${file}\n${people}`)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /^ref: the backend already has a key with the name a|^kid: was given to a key before/m,
        ),
      })
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    writeFileSync(its.inFolder('data/keys/signet-es-1'), privateKey.export({ type: 'pkcs8', format: 'pem' }), {
      mode: 0o600,
    })
    const refused = await its.hold(`signer: local\nslot: es\n${people}`)
    expect(refused.stderr).toContain('slot: the backend already has a key with the name signet-es-1')
    expect(refused.stderr).not.toContain(ada)
  })

  it('KR46 a key for auditors that is away is found before anybody is asked, and nothing is made', async () => {
    const double = await startKmsDouble()
    const { endpoint } = double
    await double[Symbol.asyncDispose]()
    const kms = `\n  kms: { use: signers/aws-kms, options: { region: ${doubleRegion}, endpoint: '${endpoint}', deadline_ms: 500 } }`
    await its.deploy(['{ kid: au-1, alg: EdDSA, signer: kms, ref: alias/au-1, purposes: [audit] }', slot], kms)
    const refused = await its.hold(`signer: local\nslot: es\n${people}`, both, '--out', 'out')
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no key with the purpose audit can sign now'),
    })
    expect(refused.stderr).not.toContain(ada)
    expect(existsSync(its.inFolder('data/keys'))).toBe(false)
    expect(existsSync(its.inFolder('out'))).toBe(false)
    expect(its.auditLines().at(-1)).toMatchObject({
      event: 'key.ceremony_refused',
      reason: expect.stringContaining('no key with the purpose audit'),
    })
  })
})
