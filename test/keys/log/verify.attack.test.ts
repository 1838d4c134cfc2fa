import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { encodeEntry } from '../../../core/keys/log/entry.js'
import { Unavailable } from '../../../core/unavailable.js'
import { drip, flood, LyingIssuer, newKey, type LogKey } from './lying-issuer.js'

let issuer: LyingIssuer
let audit: LogKey
let es: LogKey
beforeEach(async () => {
  issuer = await LyingIssuer.start()
  onTestFinished(() => issuer[Symbol.asyncDispose]())
  audit = newKey('audit-1', ['audit'])
  es = newKey('es-1')
  issuer.keys = [es.jwk, audit.jwk]
  issuer.signer = audit
  issuer.log(audit.entry('published'), audit.entry('signing'), es.entry('published'), es.entry('signing'))
})

/** What an honest look remembers. */
const remember = async () => {
  const { findings, seen } = await issuer.look()
  expect(findings).toEqual([])
  return seen as NonNullable<typeof seen>
}

const replaceEntry = (index: number) =>
  issuer.entries.map((entry, place) => (place === index ? encodeEntry(newKey('x').entry('published')) : entry))

describe('KR19: a history that was changed', () => {
  it('KR19: is found when an entry is not the one that was signed', async () => {
    issuer.covered = issuer.entries
    issuer.entries = replaceEntry(2)
    expect(await issuer.kinds()).toEqual(['mismatch'])
  })

  it('KR19: is found when the log was signed anew', async () => {
    const seen = await remember()
    issuer.entries = replaceEntry(2)
    expect(await issuer.kinds(seen)).toEqual(['forked'])
    issuer.log(es.entry('retired'))
    expect(await issuer.kinds(seen)).toEqual(['rewritten'])
    // Nothing is remembered in the place of the evidence.
    expect((await issuer.look(seen)).seen).toBeUndefined()
  })

  it('KR19: is found when the log goes back to an older backup, whatever is appended then', async () => {
    issuer.log(es.entry('retired'))
    const seen = await remember()
    issuer.entries = issuer.entries.slice(0, 4)
    expect(await issuer.kinds(seen)).toEqual(['shrunk'])
    issuer.log(es.entry('withdrawn'))
    expect(await issuer.kinds(seen)).toEqual(['forked'])
    issuer.log(es.entry('destroyed'))
    expect(await issuer.kinds(seen)).toEqual(['rewritten'])
  })

  it('KR19: is found when two readers are shown two histories', async () => {
    issuer.log(es.entry('retired'))
    const one = await remember()
    issuer.entries = replaceEntry(4)
    expect(await issuer.kinds(one)).toEqual(['forked'])
  })

  it('KR19: is found when the entries are not those of a key log', async () => {
    for (const entry of ['{}', 'x', encodeEntry(es.entry('retired')).replace('{', '{ ')]) {
      issuer.entries = [...issuer.entries.slice(0, 4), entry]
      expect(await issuer.kinds()).toEqual(['mismatch'])
    }
  })
})

describe('KR21: keys outside the log', () => {
  it('KR21: are found: another key, another kid, another key under a kid, another algorithm, none that can be read', async () => {
    const other = newKey('other')
    for (const key of [
      other.jwk,
      { ...es.jwk, kid: 'es-2' },
      { ...other.jwk, kid: 'es-1' },
      { ...es.jwk, alg: 'ES256' },
      { kty: 'oct', kid: 'es-1', k: 'AAAA' },
      { kty: 'RSA', kid: 'es-1', n: 'AQAB', e: 'AQ' },
      { ...es.jwk, kid: '__proto__' },
      {},
    ]) {
      issuer.keys = [key, audit.jwk]
      expect((await issuer.kinds()).filter((kind) => kind.startsWith('outside'))).toEqual([
        `outside ${String((key as { kid?: string }).kid ?? '')}`,
      ])
    }
  })

  it('KR21: are found only when the log still lacks them a moment later', async () => {
    const next = newKey('es-2')
    issuer.keys = [next.jwk, es.jwk, audit.jwk]
    let notes = 0
    issuer.answers.set('/keys/log/checkpoint', (_request, response) => {
      const note = issuer.note()
      if (notes++ === 0) issuer.log(next.entry('published'))
      response.end(note)
    })
    expect(await issuer.kinds()).toEqual([])
    expect(notes).toBe(2)
  })

  it('KR21: are those that ended in the log an hour ago, and not those of caches', async () => {
    issuer.log(es.entry('withdrawn', '2026-11-26T11:00:00Z'))
    expect(await issuer.kinds()).toEqual([])
    issuer.entries = issuer.entries.slice(0, 4)
    issuer.log(es.entry('withdrawn', '2026-11-26T10:45:00Z'))
    expect(await issuer.kinds()).toEqual(['ended es-1'])
    issuer.entries = issuer.entries.slice(0, 4)
    issuer.log(es.entry('gone', '2026-11-26T10:45:00Z'), es.entry('published', '2026-11-26T10:46:00Z'))
    expect(await issuer.kinds()).toEqual([])
  })

  it('KR21: tells of a log that lacks the end of a key', async () => {
    issuer.keys = [audit.jwk]
    expect(await issuer.kinds()).toEqual(['stale es-1'])
    issuer.log(newKey('es-3').entry('published', '2026-11-26T11:30:00Z'))
    expect(await issuer.kinds()).toEqual(['stale es-1'])
  })
})

describe('KR22: the key of the log', () => {
  it('KR22: has to sign, with the right name and unchanged', async () => {
    const seen = await remember()
    issuer.signer = newKey('thief')
    expect(await issuer.kinds(seen)).toEqual(['bad_signature'])
    expect(await issuer.kinds()).toEqual(['bad_signature'])
    issuer.keys = [...issuer.keys, issuer.signer.jwk]
    // A key of the issuer that is not for the log.
    expect(await issuer.kinds()).toEqual(['bad_signature'])
    issuer.signer = es
    expect(await issuer.kinds()).toEqual(['bad_signature'])
    issuer.signer = audit
    const note = issuer.note()
    for (const broken of [note.replace(/.{8}=\n$/, 'AAAAAAA=\n'), note.replace('\u2014 ', '\u2014 x')]) {
      issuer.answers.set('/keys/log/checkpoint', (_request, response) => void response.end(broken))
      expect(await issuer.kinds(seen)).toEqual(['bad_signature'])
    }
  })

  it('KR22: may be followed by one that it announced itself', async () => {
    const next = newKey('audit-2', ['audit'])
    issuer.keys = [next.jwk, ...issuer.keys]
    issuer.log(next.entry('published'))
    const seen = await remember()
    issuer.log(next.entry('signing'), audit.entry('retired'))
    issuer.signer = next
    const look = await issuer.look(seen)
    expect(look.findings).toEqual([])
    expect(look).toMatchObject({ followed: issuer.verifierKey(audit), seen: { key: issuer.verifierKey(next) } })
  })

  it('KR22: is not followed by one that announces itself, is for something else or was withdrawn', async () => {
    const seen = await remember()
    const next = newKey('audit-2', ['audit'])
    issuer.keys = [next.jwk, ...issuer.keys]
    issuer.signer = next
    issuer.log(next.entry('published'))
    expect(await issuer.kinds(seen)).toEqual(['bad_signature'])

    const token = newKey('es-2')
    issuer.signer = audit
    issuer.keys = [token.jwk, ...issuer.keys]
    issuer.log(token.entry('published'))
    const later = await remember()
    issuer.signer = token
    issuer.log(token.entry('signing'))
    expect(await issuer.kinds(later)).toEqual(['bad_signature'])
    issuer.signer = next
    expect(await issuer.kinds(later)).toEqual([])
    issuer.log(next.entry('withdrawn'))
    expect(await issuer.kinds(later)).toEqual(['bad_signature'])
  })

  it('KR22: is not followed in a log that was rewritten', async () => {
    const next = newKey('audit-2', ['audit'])
    issuer.log(next.entry('published'))
    issuer.keys = [next.jwk, ...issuer.keys]
    const seen = await remember()
    issuer.entries = replaceEntry(1)
    issuer.log(es.entry('retired'))
    issuer.signer = next
    expect(await issuer.kinds(seen)).toEqual(['rewritten'])
    // What was seen is of another log.
    expect(await issuer.kinds({ ...seen, checkpoint: seen.checkpoint.replace('127.0.0.1', 'other.example') })).toEqual([
      'bad_signature',
    ])
  })
})

describe('KR23: a hostile server', () => {
  const paths = [
    '/.well-known/openid-configuration',
    '/jwks.json',
    '/keys/log/checkpoint',
    '/keys/log/tile/entries/000.p/4',
  ]

  it.each(paths)(
    'KR23: cannot make a watcher wait, read without end or go elsewhere at %s',
    async (path) => {
      for (const answer of [drip, flood]) {
        issuer.answers.set(path, answer)
        await expect(issuer.look()).rejects.toThrow(Unavailable)
      }
      for (const status of [301, 307, 404, 500, 204]) {
        issuer.answers.set(
          path,
          (_request, response) => void response.writeHead(status, { location: '/elsewhere' }).end(),
        )
        await expect(issuer.look()).rejects.toThrow(Unavailable)
      }
      expect(issuer.asked).not.toContain('/elsewhere')
    },
    20_000,
  )

  it.each(paths)('KR23: is found when %s is something else', async (path) => {
    for (const body of [
      '',
      '[]',
      'null',
      '\u0000',
      '{"keys":{}}',
      '{"keys":[1]}',
      '\xff'.repeat(100),
      '{'.repeat(8000),
    ]) {
      issuer.answers.set(path, (_request, response) => void response.end(Buffer.from(body, 'latin1')))
      expect(await issuer.kinds()).toEqual(['bad_answer'])
    }
  })

  it('KR23: names no other host for the watcher to ask', async () => {
    for (const jwks_uri of [
      'http://127.0.0.1:1/jwks.json',
      `${issuer.issuer}.example/jwks.json`,
      'file:///etc/passwd',
      7,
      undefined,
    ]) {
      issuer.answers.set(
        paths[0] ?? '',
        (_request, response) => void response.end(JSON.stringify({ issuer: issuer.issuer, jwks_uri })),
      )
      expect(await issuer.kinds()).toEqual(['bad_answer'])
    }
    issuer.answers.set(
      paths[0] ?? '',
      (_request, response) =>
        void response.end(JSON.stringify({ issuer: 'https://other.example', jwks_uri: `${issuer.issuer}/jwks.json` })),
    )
    expect(await issuer.kinds()).toEqual(['bad_answer'])
  })

  it('KR23: cannot have more entries, keys or bytes than a watcher reads', async () => {
    const note = issuer.note()
    for (const size of ['200001', '9007199254740991']) {
      issuer.answers.set(
        '/keys/log/checkpoint',
        (_request, response) => void response.end(note.replace('\n4\n', `\n${size}\n`)),
      )
      expect(await issuer.kinds()).toEqual(['bad_answer'])
    }
    expect(issuer.asked.filter((path) => path.includes('/tile/'))).toEqual([])
    issuer.answers.delete('/keys/log/checkpoint')
    issuer.keys = Array.from({ length: 1025 }, () => ({}))
    expect(await issuer.kinds()).toEqual(['bad_answer'])
    issuer.keys = [es.jwk, audit.jwk]
    issuer.answers.set('/keys/log/tile/entries/000.p/4', (_request, response) => void response.end(Buffer.alloc(8000)))
    expect(await issuer.kinds()).toEqual(['bad_answer'])
  })

  it('KR23: gains nothing by the checkpoint of another log, or one without entries', async () => {
    const note = issuer.note()
    issuer.answers.set(
      '/keys/log/checkpoint',
      (_request, response) => void response.end(note.replace('/keys/log\n', '/keys/other\n')),
    )
    expect(await issuer.kinds()).toEqual(['bad_answer'])
    issuer.answers.clear()
    issuer.entries = []
    expect(await issuer.kinds()).toEqual(['bad_signature'])
  })
})
