import type { IncomingMessage } from 'node:http'
import { beforeAll, describe, expect, it } from 'vitest'
import { parseCertificateHeader, type CertificateFormat } from '../../core/http/certificate-header.js'
import { createHeaderCertificates } from '../../core/http/client-certificate.js'
import {
  createCertificateAuthority,
  type CertificateAuthority,
  type IssuedCertificate,
} from '../support/forge/certificates.js'

let root: CertificateAuthority
let leaf: IssuedCertificate
beforeAll(async () => {
  root = await createCertificateAuthority()
  leaf = await root.issue()
})

const der = (certificate: IssuedCertificate) => certificate.der.toString('base64')
const pem = (...certificates: readonly IssuedCertificate[]) =>
  encodeURIComponent(certificates.map((one) => one.pem).join(''))
/** AWS ALB leaves three characters as they are. */
const albPem = (...certificates: readonly IssuedCertificate[]) =>
  pem(...certificates)
    .replaceAll('%2B', '+')
    .replaceAll('%2F', '/')
    .replaceAll('%3D', '=')

describe('the header of a proxy', () => {
  it.each<[string, CertificateFormat, () => [string, string?], () => IssuedCertificate[]]>([
    ['RFC 9440', 'rfc9440', () => [`:${der(leaf)}:`], () => [leaf]],
    ['RFC 9440 with the chain', 'rfc9440', () => [`:${der(leaf)}:`, `:${der(root)}:`], () => [leaf, root]],
    ['nginx', 'pem-urlencoded', () => [pem(leaf)], () => [leaf]],
    ['AWS ALB', 'pem-urlencoded', () => [albPem(leaf)], () => [leaf]],
    ['AWS ALB that passes the chain through', 'pem-urlencoded', () => [albPem(leaf, root)], () => [leaf, root]],
    ['HAProxy', 'der-base64', () => [der(leaf)], () => [leaf]],
    ['Traefik', 'der-base64', () => [encodeURIComponent(`${der(leaf)},${der(root)}`)], () => [leaf, root]],
    ['Envoy', 'xfcc', () => [`By=spiffe://a;Hash=ab;Cert="${pem(leaf)}"`], () => [leaf]],
    [
      'Envoy with the chain',
      'xfcc',
      () => [`Hash=ab;Cert="${pem(leaf)}";Chain="${pem(leaf, root)}";Subject="CN=\\"a,b\\""`],
      () => [leaf, root],
    ],
    ['Envoy with the chain alone', 'xfcc', () => [`Chain="${pem(leaf, root)}"`], () => [leaf, root]],
    ['Envoy without a certificate', 'xfcc', () => ['Hash=ab;URI=spiffe://a'], () => []],
    ['HAProxy without a certificate', 'der-base64', () => [''], () => []],
  ])('of %s', (_what, format, textOf, expected) => {
    expect(parseCertificateHeader(format, ...textOf())).toEqual(expected().map((one) => one.der))
  })

  it.each<[string, CertificateFormat, () => [string, string?]]>([
    ['no byte sequence', 'rfc9440', () => [der(leaf)]],
    ['a parameter', 'rfc9440', () => [`:${der(leaf)}:;a=b`]],
    ['a list', 'rfc9440', () => [`:${der(leaf)}:, :${der(root)}:`]],
    ['a chain without a certificate', 'rfc9440', () => ['', `:${der(root)}:`]],
    ['a broken chain', 'rfc9440', () => [`:${der(leaf)}:`, `:${der(root)}`]],
    ['base64 with junk', 'der-base64', () => [`${der(leaf)}!`]],
    ['base64url', 'der-base64', () => [`${leaf.der.toString('base64url')}-_`]],
    ['PEM that is not escaped', 'pem-urlencoded', () => ['-----BEGIN CERTIFICATE----- AA== -----END CERTIFICATE']],
    ['text between certificates', 'pem-urlencoded', () => [encodeURIComponent(`${leaf.pem}junk${root.pem}`)]],
    [
      'blanks within a certificate',
      'pem-urlencoded',
      () => [encodeURIComponent(leaf.pem.replace(/\n(?=[A-Za-z])/, '\n '))],
    ],
    ['a tab within a certificate', 'pem-urlencoded', () => [encodeURIComponent(leaf.pem.replaceAll('\n', '\t'))]],
    ['a blank before it', 'pem-urlencoded', () => [encodeURIComponent(` ${leaf.pem}`)]],
    ['a blank between certificates', 'pem-urlencoded', () => [encodeURIComponent(`${leaf.pem} ${root.pem}`)]],
    ['half an escape', 'pem-urlencoded', () => [`${pem(leaf)}%2`]],
    ['eleven certificates', 'pem-urlencoded', () => [pem(...Array.from({ length: 11 }, () => leaf))]],
    ['two elements', 'xfcc', () => [`Cert="${pem(leaf)}",Cert="${pem(root)}"`]],
    ['two certificates', 'xfcc', () => [`Cert="${pem(leaf)}";Cert="${pem(root)}"`]],
    ['a chain of somebody else', 'xfcc', () => [`Cert="${pem(root)}";Chain="${pem(leaf, root)}"`]],
    ['a quote that does not end', 'xfcc', () => [`Cert="${pem(leaf)}`]],
    ['no pair', 'xfcc', () => ['Cert']],
  ])('MT01 with %s does not parse', (_what, format, textOf) => {
    expect(parseCertificateHeader(format, ...textOf())).toBeUndefined()
  })
})

describe('the certificate of a header', () => {
  const open = () => {
    let ignored = 0
    const read = createHeaderCertificates({
      ...{ name: 'x-client-cert', format: 'der-base64', trustedProxies: ['10.0.0.0/8'] },
      ignored: () => void ignored++,
    })
    const ask = (remoteAddress: string, ...values: readonly string[]) =>
      read({
        socket: { remoteAddress },
        headers: values.length > 0 ? { 'x-client-cert': values.join(', ') } : {},
        rawHeaders: values.flatMap((value) => ['X-Client-Cert', value]),
      } as unknown as IncomingMessage)
    return { ask, ignored: () => ignored }
  }

  it('is accepted from a trusted proxy, repeatedly', () => {
    const { ask, ignored } = open()
    const read = ask('10.0.0.1', der(leaf))
    expect(read).toEqual(leaf.shown())
    expect(ask('::ffff:10.0.0.1', der(leaf))).toBe(read)
    expect(ask('10.0.0.1')).toBeUndefined()
    expect(ask('10.0.0.1', '')).toBeUndefined()
    expect(ignored()).toBe(0)
  })

  it('MT02 is ignored from any other peer, and counted', () => {
    const { ask, ignored } = open()
    expect(ask('192.0.2.1', der(leaf))).toBeUndefined()
    expect(ask('192.0.2.1', 'junk')).toBeUndefined()
    expect(ignored()).toBe(2)
  })

  it('is scanned once, whatever surrounds it', () => {
    const text = `\0${'\n'.repeat(1_000_000)}\0`
    expect(parseCertificateHeader('pem-urlencoded', encodeURIComponent(text))).toBeUndefined()
  })

  it.each<[string, () => string[]]>([
    ['that comes twice', () => [der(leaf), der(leaf)]],
    ['that is no certificate', () => [Buffer.from('junk').toString('base64')]],
    ['with something behind it', () => [Buffer.concat([leaf.der, Buffer.from([0])]).toString('base64')]],
    ['that is cut', () => [leaf.der.subarray(0, -1).toString('base64')]],
    ['that is junk', () => ['junk!']],
  ])('MT03 %s is refused, and never taken for a missing certificate', (_what, values) => {
    expect(() => open().ask('10.0.0.1', ...values())).toThrow(
      expect.objectContaining({ code: 'invalid_request', status: 400 }),
    )
  })
})
