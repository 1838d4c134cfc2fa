import { describe, expect, it } from 'vitest'
import { isSameName, parseDistinguishedName } from '../../core/certificates/distinguished-name.js'
import { readCertificate } from '../../core/certificates/read-certificate.js'
import { isForSubject, type CertificateSubject } from '../../core/certificates/subject.js'
import { createSelfSigned, type CertificateRequest } from '../support/forge/certificates.js'

const same = (left: string, right: string): boolean =>
  isSameName(parseDistinguishedName(left) ?? [], parseDistinguishedName(right) ?? [])

describe('a distinguished name (RFC 4514)', () => {
  it.each([
    ['CN=app,O=Bank,C=DE', 'cn=App, o=BANK,c=de'],
    ['CN=app,O=Bank\\, Inc.', 'CN=app,O=Bank\\2c Inc.'],
    ['CN=a  b', 'CN=a b'],
    ['OU=x+CN=a,O=o', 'CN=a+OU=x,O=o'],
    ['2.5.4.3=app', 'CN=app'],
    ['CN=Lu\\C4\\8Di\\C4\\87', 'CN=Lučić'],
    ['serialNumber=1', '2.5.4.5=1'],
    ['UID=u,DC=example,DC=com', '0.9.2342.19200300.100.1.1=u,dc=EXAMPLE,dc=com'],
    ['CN=a\\ ', 'CN=a'],
  ])('%s is %s', (left, right) => {
    expect(same(left, right)).toBe(true)
  })

  it.each([
    ['CN=app,O=Bank', 'O=Bank,CN=app'],
    ['CN=app,O=Bank', 'CN=app'],
    ['CN=app', 'O=app'],
    ['CN=a+OU=x', 'CN=a,OU=x'],
    ['CN=app', 'CN=app2'],
  ])('MT21 %s is not %s', (left, right) => {
    expect(same(left, right)).toBe(false)
  })

  it.each([
    '',
    'CN',
    'CN=',
    'CN=a,',
    'CN=a+',
    '=a',
    'nope=a',
    'CN=#0c0161',
    'CN="a"',
    'CN=a;O=b',
    'CN=a\\',
    'CN=a\\g1',
    'CN=a\\00b',
    'CN=\\ff',
    `CN=${'a'.repeat(1022)}`,
  ])('MT21 does not read %s', (text) => {
    expect(parseDistinguishedName(text)).toBeUndefined()
  })
})

describe('the subject that a client registered', () => {
  const subject = [{ C: ['DE'] }, { O: ['Bank, Inc.'] }, { CN: ['app'] }]
  const san = [
    { type: 'dns', value: 'App.bank.example' },
    { type: 'url', value: 'spiffe://bank/app' },
    { type: 'ip', value: '192.0.2.7' },
    { type: 'ip', value: '2001:db8::7' },
    { type: 'email', value: 'app@Bank.example' },
  ] as const
  const check = async (wanted: CertificateSubject, request: CertificateRequest = { subject, san }) =>
    isForSubject(readCertificate((await createSelfSigned(request)).der), wanted)

  it.each<[CertificateSubject]>([
    [{ tls_client_auth_subject_dn: 'CN=app,O=Bank\\, Inc.,C=DE' }],
    [{ tls_client_auth_san_dns: 'app.BANK.example' }],
    [{ tls_client_auth_san_uri: 'spiffe://bank/app' }],
    [{ tls_client_auth_san_ip: '192.0.2.7' }],
    [{ tls_client_auth_san_ip: '2001:DB8:0:0:0:0:0:7' }],
    [{ tls_client_auth_san_email: 'app@bank.example' }],
  ])('matches: %j', async (wanted) => {
    expect(await check(wanted)).toBe(true)
  })

  it.each<[CertificateSubject]>([
    [{ tls_client_auth_subject_dn: 'CN=app,O=Bank\\, Inc.' }],
    [{ tls_client_auth_subject_dn: 'C=DE,O=Bank\\, Inc.,CN=app' }],
    [{ tls_client_auth_san_dns: 'bank.example' }],
    [{ tls_client_auth_san_dns: 'app' }],
    [{ tls_client_auth_san_uri: 'spiffe://bank/APP' }],
    [{ tls_client_auth_san_ip: '192.0.2.70' }],
    [{ tls_client_auth_san_email: 'APP@bank.example' }],
    [{}],
  ])('MT22 does not match: %j', async (wanted) => {
    expect(await check(wanted)).toBe(false)
  })

  it('MT23 does not match the common name if a host name is registered', async () => {
    const named = { subject: [{ CN: ['app.bank.example'] }] }
    expect(await check({ tls_client_auth_san_dns: 'app.bank.example' }, named)).toBe(false)
  })

  it('MT24 matches neither a name with a null character nor a wildcard', async () => {
    const dns = (value: string) => ({ san: [{ type: 'dns' as const, value }] })
    expect(await check({ tls_client_auth_san_dns: 'app.bank.example' }, dns('app.bank.example\0.evil.example'))).toBe(
      false,
    )
    expect(await check({ tls_client_auth_san_dns: 'app.bank.example' }, dns('*.bank.example'))).toBe(false)
    expect(await check({ tls_client_auth_subject_dn: 'CN=app' }, { subject: [{ CN: ['app\0.evil'] }] })).toBe(false)
  })
})
