import { describe, expect, it } from 'vitest'
import { encodeEntry, decodeEntry } from '../../../core/keys/log/entry.js'
import { formatCheckpoint, parseCheckpoint } from '../../../core/keys/log/checkpoint.js'
import { leafHash, rootOf, type ReadNode } from '../../../core/keys/log/merkle.js'
import { formatNote, formatNoteKey, isSignedBy, parseNote, parseNoteKey } from '../../../core/keys/log/note.js'
import { decodeBundle, encodeBundle, formatTilePath, parseTilePath } from '../../../core/keys/log/tiles.js'
import { consistencyProof, inclusionProof, verifyConsistency, verifyInclusion } from '../../../core/keys/log/proofs.js'
import { sign } from 'node:crypto'
import { entryOf, newAuditKey, origin } from './log-double.js'

/** The leaves of the test vectors of RFC 6962 implementations (certificate-transparency, `merkle_tree_test`). */
const leaves = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'].map(
  (hex) => leafHash(Buffer.from(hex, 'hex')),
)
const roots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

const nodesOf =
  (hashes: readonly Buffer[]): ReadNode =>
  async (level, index) =>
    rootOf(hashes.slice(index * 2 ** level, (index + 1) * 2 ** level))

describe('the tree', () => {
  it('has the roots that other implementations have', () => {
    expect(roots.map((_, size) => rootOf(leaves.slice(0, size)).toString('hex'))).toEqual(roots)
  })

  it('proves each entry in each size, and no other entry, index, size or root', async () => {
    const many = Array.from({ length: 70 }, (_, index) => leafHash(Buffer.from(String(index))))
    for (let size = 1; size <= many.length; size++) {
      const tree = { size, root: rootOf(many.slice(0, size)) }
      for (let index = 0; index < size; index++) {
        const leaf = many[index] as Buffer
        const proof = await inclusionProof(nodesOf(many), index, size)
        expect(verifyInclusion(leaf, index, proof, tree)).toBe(true)
        expect(verifyInclusion(leafHash(leaf), index, proof, tree)).toBe(false)
        expect(verifyInclusion(leaf, index, [...proof, leaf], tree)).toBe(false)
        expect(verifyInclusion(leaf, index, proof, { ...tree, root: leaf }) && size > 1).toBe(false)
        if (size > 1) {
          expect(verifyInclusion(leaf, index ^ 1, proof, tree)).toBe(false)
          expect(verifyInclusion(leaf, index, proof.slice(1), tree)).toBe(false)
        }
      }
      for (const index of [-1, size, 0.5, NaN])
        expect(verifyInclusion(leaves[0] as Buffer, index, [], tree)).toBe(false)
    }
  })

  it('proves that each size begins with each smaller one, and nothing of another history', async () => {
    const many = Array.from({ length: 70 }, (_, index) => leafHash(Buffer.from(String(index))))
    for (let size = 1; size <= many.length; size++) {
      const second = { size, root: rootOf(many.slice(0, size)) }
      for (let first = 1; first <= size; first++) {
        const proof = await consistencyProof(nodesOf(many), first, size)
        const before = { size: first, root: rootOf(many.slice(0, first)) }
        expect(verifyConsistency(before, proof, second)).toBe(true)
        const other = { size: first, root: rootOf([...many.slice(0, first - 1), leafHash(Buffer.from('other'))]) }
        expect(verifyConsistency(other, proof, second)).toBe(false)
        expect(verifyConsistency(before, proof, { size, root: other.root })).toBe(false)
        expect(verifyConsistency(before, [...proof, before.root], second)).toBe(false)
        if (proof.length > 0) expect(verifyConsistency(before, proof.slice(1), second)).toBe(false)
      }
    }
    expect(verifyConsistency({ size: 0, root: rootOf([]) }, [], { size: 1, root: rootOf([]) })).toBe(false)
    expect(verifyConsistency({ size: 2, root: rootOf([]) }, [], { size: 1, root: rootOf([]) })).toBe(false)
  })
})

describe('an entry', () => {
  it('is canonical JSON', () => {
    const text = encodeEntry(entryOf(7))
    expect(text).toBe(
      '{"alg":"ES256","kid":"es-7","purposes":["access_token","id_token"],"signer":"signers/pkcs11","step":"published","thumbprint":"thumbprint-7","time":"2026-11-26T00:00:00Z"}',
    )
    expect(Object.keys(JSON.parse(text) as object)).toEqual(Object.keys(JSON.parse(text) as object).toSorted())
  })

  it('is read in one spelling only', () => {
    const text = encodeEntry(entryOf(7))
    expect(decodeEntry(text)).toEqual(entryOf(7))
    const others = [
      ...['', 'null', '[]', '{}', text.slice(0, -1), `${text} `, text.replace('"step"', ' "step"')],
      ...[text.replace('published', 'unknown'), text.replace('ES256', 'none'), text.replace('access_token', 'other')],
      ...[text.replace('2026-11-26T00:00:00Z', 'now'), text.replace('}', ',"zz":1}'), text.replace('{', '{"a":1,')],
      text.replace('"kid":"es-7"', '"kid":7'),
    ]
    expect(others.map(decodeEntry)).toEqual(others.map(() => undefined))
    // Later versions may say more.
    expect(decodeEntry(text.replace('{"alg"', '{"a":"x","alg"'))).toEqual(entryOf(7))
    expect(decodeEntry(text.replace('{"alg"', '{"z":"x","alg"'))).toBeUndefined()
    expect(decodeEntry(text.replace('{"alg"', '{"alg":"ES256","alg"'))).toBeUndefined()
  })
})

describe('a tile', () => {
  it('has the paths of C2SP tlog-tiles', () => {
    expect(formatTilePath({ level: 0, index: 1_234_067, width: 256 })).toBe('tile/0/x001/x234/067')
    expect(formatTilePath({ level: 63, index: 0, width: 255 })).toBe('tile/63/000.p/255')
    expect(formatTilePath({ level: 'entries', index: 1000, width: 1 })).toBe('tile/entries/x001/000.p/1')
  })

  it('is read in one spelling only', () => {
    for (const index of [0, 1, 999, 1000, 1_234_067])
      for (const width of [1, 99, 255, 256])
        for (const level of [0, 9, 10, 63, 'entries'] as const) {
          const tile = { level, index, width }
          expect(parseTilePath(formatTilePath(tile).slice('tile/'.length))).toEqual(tile)
        }
    const others = [
      ...['', '0', '0/', '0/0', '0/00', '0/0000', '0/x000', '0/x000/000', '0/000/000', '0/001/x000', '0/X001/000'],
      ...['00/000', '64/000', '-1/000', '0/-01', '0/000.p', '0/000.p/', '0/000.p/0', '0/000.p/01', '0/000.p/256'],
      ...['0/000.p/999', '0/000.p/1/', '0/000.P/1', 'Entries/000', '0/000 ', '0/٠٠٠', '0/x001/x001/x001/x001/x001/000'],
    ]
    expect(others.map(parseTilePath)).toEqual(others.map(() => undefined))
  })

  it('has its entries behind their lengths, and exactly as many as it should', () => {
    const entries = ['a', '', 'ü'.repeat(300)]
    const bundle = encodeBundle(entries)
    expect(bundle.subarray(0, 3).toString('hex')).toBe('000161')
    expect(decodeBundle(bundle, 3)?.map(String)).toEqual(entries)
    expect([2, 4].map((width) => decodeBundle(bundle, width))).toEqual([undefined, undefined])
    expect(decodeBundle(bundle.subarray(0, -1), 3)).toBeUndefined()
    expect(decodeBundle(Buffer.concat([bundle, Buffer.of(0)]), 3)).toBeUndefined()
  })
})

describe('a note', () => {
  it('has the keys of C2SP signed-note', () => {
    // The key of the Go checksum database (golang.org/x/mod/sumdb, cmd/go).
    const known = 'sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8'
    const key = parseNoteKey(known)
    expect(key && formatNoteKey(key)).toBe(known)
    const others = [
      '',
      'a',
      known.replace('033de0ae', '033de0af'),
      known.replace('sum.', 'su m.'),
      `${known}=`,
      known.replace('Ac4', 'Bc4'),
    ]
    expect(others.map(parseNoteKey)).toEqual(others.map(() => undefined))
  })

  it('is accepted of its key alone, unchanged', () => {
    const { privateKey, publicKey, verifier } = newAuditKey()
    const text = formatCheckpoint({ origin, size: 0, root: rootOf([]) })
    const note = formatNote(text, verifier, sign(null, Buffer.from(text), privateKey))
    const signedBy = (written: string, key = verifier) => {
      const parsed = parseNote(written)
      return parsed !== undefined && isSignedBy(parsed, key)
    }
    expect(signedBy(note)).toBe(true)
    expect(parseCheckpoint(note)).toMatchObject({ origin, size: 0 })
    expect(signedBy(note.replace('\n0\n', '\n1\n'))).toBe(false)
    expect(signedBy(note, newAuditKey().verifier)).toBe(false)
    // Another key of the same name and hash.
    expect(signedBy(note, { ...newAuditKey().verifier, hash: verifier.hash })).toBe(false)
    // Lines of other keys, such as those of witnesses, are passed over.
    expect(
      signedBy(note.replace('\u2014', `\u2014 witness.example ${Buffer.alloc(76).toString('base64')}\n\u2014`)),
    ).toBe(true)
    expect(verifier.publicKey.equals(publicKey)).toBe(true)
  })

  it('is no checkpoint in any other form', () => {
    const { verifier } = newAuditKey()
    const root = rootOf([]).toString('base64')
    const texts = [
      '',
      'a\n',
      `a\n1\n`,
      `a\n01\n${root}\n`,
      `a\n-1\n${root}\n`,
      `a\n1e3\n${root}\n`,
      `a\n9007199254740993\n${root}\n`,
    ]
    const odd = [
      ...texts,
      `\n1\n${root}\n`,
      `a\n1\n${root}=\n`,
      `a\n1\n${root.slice(4)}\n`,
      `a\n1\n${root.replace('=', '')}\n`,
    ]
    expect(odd.map((text) => parseCheckpoint(formatNote(text, verifier, Buffer.alloc(64))))).toEqual(
      odd.map(() => undefined),
    )
    const text = `a\n1\n${root}\n`
    const note = formatNote(text, verifier, Buffer.alloc(64))
    const broken = [
      text,
      note.slice(0, -1),
      note.replace('\u2014', '-'),
      note.replace('\n\n', '\n'),
      `${text}\n\u2014 a b\n`,
      `${text}\n`,
    ]
    const floods = [
      `${text}\n${`\u2014 a ${Buffer.alloc(68).toString('base64')}\n`.repeat(17)}`,
      'a'.repeat(20_000) + note,
    ]
    expect([...broken, ...floods].map(parseCheckpoint)).toEqual([...broken, ...floods].map(() => undefined))
  })
})
