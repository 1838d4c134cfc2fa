import { describe, expect, it } from 'vitest'
import { minimal, plugins } from '../../support/server/config-files.js'
import { problemsOf } from '../../support/server/problems-of.js'

/** The slots after the fixed keys of the minimal configuration. */
const withSlots = (...slots: readonly string[]) =>
  minimal(plugins).replace(/^keys: \[(.*)\]$/m, (_, fixed: string) => `keys: [${[fixed, ...slots].join(', ')}]`)

const slot = (more = '', name = 'es') => `{ slot: ${name}, alg: ES256, signer: local${more && `, ${more}`} }`

describe('slots in the configuration', () => {
  it('need a name, an algorithm and a signer', async () => {
    expect(await problemsOf(withSlots(slot()))).toEqual([])
  })

  it.each([
    [
      'keys[2].rotate.announce_days: is shorter than the hour for which relying parties may cache /jwks.json: at least 0.042',
      slot('rotate: { announce_days: 0.04 }'),
    ],
    [
      'keys[2].rotate.every_days: leaves no time to announce a key for 14 days: more than 14',
      slot('rotate: { every_days: 14 }'),
    ],
    [
      'keys[2].rotate.max_keys: is too small for this period and the lifetimes of tokens: at least 4',
      slot('rotate: { ahead: 2, max_keys: 3 }'),
    ],
    ['keys[2].signer: there is no signer with this name', slot().replace('local', 'elsewhere')],
    ['keys[2].ref: gives every key of the slot the same name: use {kid} or {number}', slot("ref: 'key-{slot}'")],
    ['keys[2].ref: has a variable other than {slot}, {number} and {kid}', slot("ref: 'key-{kid}-{year}'")],
    ['keys[3].slot: is the same as keys[2].slot', slot(), slot('', 'es')],
    [
      'keys[2].ref: names the same keys as the slot other: use {kid} or {slot}',
      slot("ref: 'key-{number}'"),
      slot("ref: 'key-{number}'", 'other'),
    ],
    [
      'keys[2].kid: is a name that the slot es gives to its keys: rename one of them',
      '{ kid: es-7, alg: ES256, signer: local, ref: seven.pem }',
      slot(),
    ],
    ['keys[2].slot: must be a name such as es: small letters, digits, - and _', slot('', 'ES')],
  ])('KR15 %s', async (message, ...slots) => {
    expect((await problemsOf(withSlots(...slots)))[0]).toContain(message)
  })

  it.each([
    ['rotate: { every_day: 3 }', 'every_day'],
    ['rotates: {}', 'rotates'],
    ['kid: es-1', 'kid'],
  ])('refuse what they do not know: %s', async (more, named) => {
    expect((await problemsOf(withSlots(slot(more)))).join('\n')).toContain(named)
  })
})
