import 'reflect-metadata'
import { createHash, KeyObject, webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'
import type { ClientCertificate } from '../../../core/certificates/client-certificate.js'

x509.cryptoProvider.set(webcrypto as Crypto)

const rsa = (name: string, hash: string, modulusLength = 2048) => ({
  ...{ name, hash, modulusLength },
  publicExponent: new Uint8Array([1, 0, 1]),
})

const algorithms = {
  ES256: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  ES384: { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-256' },
  ES512: { name: 'ECDSA', namedCurve: 'P-521', hash: 'SHA-256' },
  EdDSA: { name: 'Ed25519' },
  RS256: rsa('RSASSA-PKCS1-v1_5', 'SHA-256'),
  RSA1024: rsa('RSASSA-PKCS1-v1_5', 'SHA-256', 1024),
  PS256: rsa('RSA-PSS', 'SHA-256'),
  PS1: rsa('RSA-PSS', 'SHA-1'),
} as const

export type CertificateKeys = CryptoKeyPair
export const createCertificateKeys = (alg: keyof typeof algorithms = 'ES256'): Promise<CertificateKeys> =>
  webcrypto.subtle.generateKey(algorithms[alg], true, ['sign', 'verify']) as Promise<CertificateKeys>

type AlternativeName = { readonly type: 'dns' | 'url' | 'ip' | 'email'; readonly value: string }

export interface CertificateRequest {
  /** Relative names from the root down, attributes by short name or OID. */
  readonly subject?: x509.JsonName
  readonly san?: readonly AlternativeName[]
  /** OIDs; null: no extension. */
  readonly eku?: readonly string[] | null
  readonly keyUsage?: number | null
  /** An authority, with so many below it. */
  readonly ca?: boolean | { readonly pathLength: number }
  readonly notBefore?: Date
  readonly notAfter?: Date
  readonly keys?: CertificateKeys
  readonly hash?: 'SHA-1' | 'SHA-256'
  readonly more?: readonly x509.Extension[]
}

export interface IssuedCertificate {
  readonly pem: string
  readonly der: Buffer
  readonly keyPem: string
  readonly keys: CertificateKeys
  readonly publicJwk: Record<string, unknown>
  /** As the core sees it, with these above it. */
  shown(...chain: readonly IssuedCertificate[]): ClientCertificate
}

export interface CertificateAuthority extends IssuedCertificate {
  issue(request?: CertificateRequest): Promise<IssuedCertificate>
  /** An authority below this one. */
  intermediate(request?: CertificateRequest): Promise<CertificateAuthority>
}

export const clientAuth = '1.3.6.1.5.5.7.3.2'
export const serverAuth = '1.3.6.1.5.5.7.3.1'
const day = 86_400_000

const privatePem = async ({ privateKey }: CertificateKeys): Promise<string> =>
  KeyObject.from(privateKey).export({ type: 'pkcs8', format: 'pem' }) as string

const signingAlgorithm = ({ privateKey }: CertificateKeys, hash: string) => ({
  ...privateKey.algorithm,
  hash,
  saltLength: hash === 'SHA-1' ? 20 : 32,
})

const make = async (
  request: CertificateRequest,
  defaults: { readonly name: string; readonly eku: readonly string[] | null; readonly keyUsage: number },
  issuer?: IssuedCertificate,
): Promise<IssuedCertificate> => {
  const keys = request.keys ?? (await createCertificateKeys())
  const { ca = false, eku = defaults.eku, keyUsage = defaults.keyUsage, san = [], hash = 'SHA-256' } = request
  const extensions: x509.Extension[] = [...(request.more ?? [])]
  const pathLength = typeof ca === 'object' ? ca.pathLength : undefined
  extensions.push(new x509.BasicConstraintsExtension(ca !== false, pathLength, true))
  if (keyUsage !== null) extensions.push(new x509.KeyUsagesExtension(keyUsage, true))
  if (eku !== null) extensions.push(new x509.ExtendedKeyUsageExtension([...eku]))
  if (san.length > 0) extensions.push(new x509.SubjectAlternativeNameExtension([...san]))
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: Buffer.from(webcrypto.getRandomValues(new Uint8Array(8))).toString('hex'),
    subject: new x509.Name(request.subject ?? [{ CN: [defaults.name] }]).toString(),
    issuer:
      issuer === undefined
        ? new x509.Name(request.subject ?? [{ CN: [defaults.name] }]).toString()
        : new x509.X509Certificate(new Uint8Array(issuer.der)).subject,
    notBefore: request.notBefore ?? new Date(Date.now() - day),
    notAfter: request.notAfter ?? new Date(Date.now() + 365 * day),
    signingAlgorithm: signingAlgorithm(issuer?.keys ?? keys, hash) as EcdsaParams,
    publicKey: keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    extensions,
  })
  const der = Buffer.from(certificate.rawData)
  const thumbprint = createHash('sha256').update(der).digest('base64url')
  return {
    pem: `${certificate.toString('pem')}\n`,
    der,
    keyPem: await privatePem(keys),
    keys,
    publicJwk: KeyObject.from(keys.publicKey).export({ format: 'jwk' }),
    shown: (...chain) => ({ raw: der, chain: chain.map((one) => one.der), thumbprint }),
  }
}

const { digitalSignature, keyCertSign, cRLSign } = x509.KeyUsageFlags

/** A certificate that nobody else has issued. */
export const createSelfSigned = (request: CertificateRequest = {}): Promise<IssuedCertificate> =>
  make(request, { name: 'self', eku: [clientAuth], keyUsage: digitalSignature })

const authority = (certificate: IssuedCertificate): CertificateAuthority => ({
  ...certificate,
  issue: (request = {}) =>
    make(request, { name: 'client', eku: [clientAuth], keyUsage: digitalSignature }, certificate),
  intermediate: async (request = {}) =>
    authority(
      await make(
        { ca: true, ...request },
        { name: 'Intermediate CA', eku: null, keyUsage: keyCertSign | cRLSign },
        certificate,
      ),
    ),
})

/** A root that issues certificates with every defect that is asked for. */
export const createCertificateAuthority = async (request: CertificateRequest = {}): Promise<CertificateAuthority> =>
  authority(await make({ ca: true, ...request }, { name: 'Test CA', eku: null, keyUsage: keyCertSign | cRLSign }))

export { x509 }
