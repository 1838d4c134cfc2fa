import { gzipSync } from 'node:zlib'
import { join } from 'node:path'
import { writeFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { createPersonFactors } from '../../core/interaction/factors/person-factors.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { collectionsOf } from '../support/forge/mint.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { openAll } from '../support/server/opened.js'
import { withEverything } from '../support/server/opened.js'
import { startServer, type TestServer } from '../support/server/server.js'
import { openTestRecords } from '../support/stores/test-stores.js'

const keep = disposeAfterAll()
let cli: CommandLine
let server: TestServer
beforeAll(async () => {
  cli = keep(await openCommandLine())
  server = keep(
    await startServer({
      configure: (written) => {
        const all = withEverything(written)
        const totp = { use: 'plugins/login/totp', options: { sealing_key: 'A'.repeat(43), after: ['password'] } }
        return { ...all, plugins: [...(all['plugins'] as object[]), totp] }
      },
    }),
  )
})

const run = (...args: string[]) => cli.run([...args, '--config', join(server.directory, 'signet.yaml')])
const importing = async (name: string, content: string | Buffer, ...more: string[]) => {
  const file = join(server.directory, name)
  await writeFile(file, content)
  const { code, stdout, stderr } = await run('accounts', 'import', file, '--json', ...more)
  return { code, stderr, ...(JSON.parse(stdout) as { imported: number; existing: number; rejected: number }) }
}
const show = async (sub: string) =>
  JSON.parse((await run('accounts', 'show', '--sub', sub, '--json')).stdout) as Record<string, unknown>
const hashOf = async (name: string) => {
  await using records = await openTestRecords(join(server.directory, 'store'), Date.now)
  return (await records.records<{ password_hash: string }>('accounts').find(name))?.password_hash
}

const keycloakPassword = (value: string, salt: string) => ({
  type: 'password',
  secretData: JSON.stringify({ value, salt, additionalParameters: {} }),
  credentialData: JSON.stringify({ hashIterations: 27_500, algorithm: 'pbkdf2-sha256', additionalParameters: {} }),
})
const realm = {
  realm: 'bank',
  requiredCredentials: ['password'],
  roles: { realm: [{ name: 'offline_access', users: ['no'] }] },
  users: [
    {
      ...{ id: 'kc-1', username: 'kc-user', enabled: true, emailVerified: true, firstName: 'Kay', lastName: 'Cee' },
      ...{ email: 'kay@bank.example', groups: ['/staff', '/staff/admins'], attributes: { department: ['IT'] } },
      credentials: [keycloakPassword('9qur72LAICdhFeb2SpkJt2jbOYaxJ44g9T+E7bmJXxI=', 'AGHjXoWftkFxnk/dcZRNnA==')],
    },
    {
      ...{ id: 'kc-2', username: 'kc-totp', enabled: false },
      credentials: [
        {
          type: 'otp',
          secretData: JSON.stringify({ value: 'abcdefghijklmnopqrst' }),
          credentialData: JSON.stringify({ subType: 'totp', digits: 6, period: 30, algorithm: 'HmacSHA1' }),
        },
      ],
    },
    { id: 'kc-3', username: 'service-account-web', serviceAccountClientId: 'web' },
    {
      ...{ id: 'kc-4', username: 'kc-slow' },
      credentials: [
        {
          ...keycloakPassword('AAAA', 'AAAA'),
          credentialData: JSON.stringify({ hashIterations: 9e9, algorithm: 'pbkdf2-sha256' }),
        },
      ],
    },
  ],
  groups: [{ id: 'g', name: 'staff', username: 'a-group-is-no-user' }],
}

describe('signet accounts import', () => {
  it('reads a realm of Keycloak: people sign in as before, and their hash is replaced by ours', async () => {
    const result = await importing('realm.json', JSON.stringify(realm, null, 2))
    expect(result).toMatchObject({ code: 1, imported: 2, existing: 0, rejected: 2 })
    expect(result.stderr).toContain('record 3: The user is the service account of a client.')
    expect(result.stderr).toContain('record 4: The password hash has an unknown form, or costs too much to verify.')
    expect(await show('kc-1')).toEqual({
      ...{ username: 'kc-user', sub: 'kc-1', source: 'store', disabled: false },
      claims: {
        ...{ department: 'IT', name: 'Kay Cee', given_name: 'Kay', family_name: 'Cee', email: 'kay@bank.example' },
        ...{ email_verified: true, groups: ['staff', 'staff/admins'] },
      },
    })
    expect(await show('kc-2')).toMatchObject({ disabled: true })
    const { stdout } = await run('accounts', 'factors', '--sub', 'kc-2', '--json')
    expect(JSON.parse(stdout)).toMatchObject([{ kind: 'totp' }])

    expect(await hashOf('kc-user')).toMatch(/^\$pbkdf2-sha256\$i=27500\$/)
    await expect(openAll(server.issuer, { username: 'kc-user', password: 'user2' })).rejects.toThrow()
    expect(await hashOf('kc-user')).toMatch(/^\$pbkdf2-sha256\$/)
    const signIn = () => openAll(server.issuer, { username: 'kc-user', password: 'user1' })
    expect((await signIn()).accessToken).toEqual(expect.any(String))
    expect(await hashOf('kc-user')).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect((await signIn()).accessToken).toEqual(expect.any(String))
  })

  it('changes nothing when it is repeated, and continues what was stopped', async () => {
    const before = await hashOf('kc-user')
    expect(await importing('realm.json', JSON.stringify(realm))).toMatchObject({
      imported: 0,
      existing: 2,
      rejected: 2,
    })
    expect(await hashOf('kc-user')).toBe(before)
    // A process was killed after the first of two steps.
    await using records = await openTestRecords(join(server.directory, 'store'), Date.now)
    await records.records('account_subjects').put('half-1', { username: 'half' })
    const line = `${JSON.stringify({ username: 'half', sub: 'half-1' })}\n`
    expect(await importing('half.jsonl', line)).toMatchObject({ code: 0, imported: 1 })
    await records.records('account_subjects').remove('half-1')
    expect(await importing('half.jsonl', line)).toMatchObject({ imported: 0, existing: 1 })
    expect(await show('half-1')).toMatchObject({ username: 'half' })
  })

  it('reads CSV, with claims by column, groups, and secrets of authenticator apps', async () => {
    const csv = [
      'username,sub,password_hash,name,phone_number,address,groups,totp_secret,email_verified',
      'csv-1,csv-1,$2b$04$vgs6y5/HN0gEDmq4Sa3Awu4ZOx4ABcxQKA7Tgr.beYUI7X80begl.,"Adams, Cy",0791234567,"{""country"":""CH""}",a;b,JBSWY3DPEHPK3PXP,true',
      'csv-2,csv 2,,,,,,,',
      'csv-3,csv-3,5f4dcc3b5aa765d61d8327deb882cf99,,,,,,',
      ',csv-4,,,,,,,',
      'ALICE,csv-5,,,,,,,',
      'csv-6,web,,,,,,,',
      'csv-7,csv-7,,,,,,NOT BASE 32!,',
    ].join('\r\n')
    const dry = await importing('people.csv', csv, '--dry-run')
    expect(dry).toMatchObject({ code: 1, imported: 1, rejected: 6, dry_run: true })
    expect((await run('accounts', 'show', '--sub', 'csv-1')).code).toBe(1)
    const result = await importing('people.csv', csv)
    expect(result).toMatchObject({ imported: 1, rejected: 6 })
    expect(result.stderr.split('\n').filter(Boolean)).toEqual([
      expect.stringMatching(/^line 3: The subject is not valid/),
      expect.stringMatching(/^line 4: The password hash has an unknown form/),
      'line 5: The entry has no username.',
      expect.stringMatching(/^line 6: The configuration has an account/),
      expect.stringMatching(/^line 7: There is a client with this id/),
      expect.stringMatching(/^line 8: The secret of the authenticator app/),
    ])
    expect(await show('csv-1')).toMatchObject({
      claims: {
        ...{ name: 'Adams, Cy', phone_number: '0791234567', address: { country: 'CH' } },
        ...{ groups: ['a', 'b'], email_verified: true },
      },
    })
    await using records = await openTestRecords(join(server.directory, 'store'), Date.now)
    const factors = createPersonFactors({ store: collectionsOf(records).personFactors, clock: Date.now })
    expect(await factors.findTotp('csv-1')).toMatchObject({ algorithm: 'SHA1', digits: 6 })
    expect(JSON.stringify(await factors.findTotp('csv-1'))).not.toContain('JBSWY3DPEHPK3PXP')
  })

  it('reads an LDIF, folded and in base64, and leaves out what is no person', async () => {
    const ldif = [
      'version: 1',
      '',
      '# people',
      'dn: ou=people,dc=bank',
      'objectClass: organizationalUnit',
      'ou: people',
      '',
      'dn: uid=ldap-1,ou=people,dc=bank',
      'objectClass: inetOrgPerson',
      'uid: ldap-1',
      'entryUUID: 0b2f6f1e-ldap-1',
      `cn:: ${Buffer.from('Zoë Müller').toString('base64')}`,
      'mail: zoe@bank.exam',
      ' ple',
      'memberOf: cn=admins,ou=groups,dc=bank',
      `userPassword:: ${Buffer.from('{SSHA}m8NIC0IusepjnSvkqz/64qf8Gb0iEXp2').toString('base64')}`,
    ].join('\n')
    expect(await importing('people.ldif.gz', gzipSync(ldif))).toMatchObject({ code: 0, imported: 1, rejected: 0 })
    expect(await show('0b2f6f1e-ldap-1')).toMatchObject({
      ...{ username: 'ldap-1', claims: { name: 'Zoë Müller', email: 'zoe@bank.example', groups: ['admins'] } },
    })
    const opened = await openAll(server.issuer, { username: 'ldap-1', password: 'correct horse' })
    expect(opened.accessToken).toEqual(expect.any(String))
  })

  it('reads exports of Firebase with the parameters of the project, and of Auth0', async () => {
    const hashConfig = join(server.directory, 'hash-config')
    await writeFile(
      hashConfig,
      `hash_config {
  algorithm: SCRYPT,
  base64_signer_key: jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,
  base64_salt_separator: Bw==,
  rounds: 8,
  mem_cost: 14,
}`,
    )
    const user = {
      ...{
        localId: 'fb-1',
        email: 'fb@bank.example',
        emailVerified: true,
        displayName: 'Fi',
        salt: '42xEC+ixf3L2lw==',
      },
      passwordHash: 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
    }
    const content = JSON.stringify({ users: [user] })
    expect(await importing('firebase.json', content)).toMatchObject({ rejected: 1 })
    expect(await importing('firebase.json', content, '--firebase-hash-config', hashConfig)).toMatchObject({
      imported: 1,
    })
    const firebase = await openAll(server.issuer, { username: 'fb@bank.example', password: 'user1password' })
    expect(firebase.accessToken).toEqual(expect.any(String))

    const auth0 = {
      ...{ _id: { $oid: '5f1' }, email: 'a0@bank.example', email_verified: true, tenant: 't', connection: 'c' },
      passwordHash: '$2y$05$Y30FaV2WdTlcrLKvTRNXMefFnBqBpsjMlvaz3SSgHeV4feyOQLxBm',
    }
    expect(await importing('auth0.ndjson', `${JSON.stringify(auth0)}\nnot json\n`)).toMatchObject({
      ...{ imported: 1, rejected: 1, stderr: 'line 2: The line is not JSON.\n' },
    })
    expect(await show('auth0|5f1')).toMatchObject({ username: 'a0@bank.example' })
    const signedIn = await openAll(server.issuer, { username: 'a0@bank.example', password: 'correct horse' })
    expect(signedIn.accessToken).toEqual(expect.any(String))
  })

  it('AD24 gives one of two entries a username, and no account what another had', async () => {
    const two = ['one', 'two'].map((sub) => JSON.stringify({ username: 'twice', sub: `twice-${sub}` })).join('\n')
    expect(await importing('twice.jsonl', two)).toMatchObject({ imported: 1, rejected: 1 })
    const same = [1, 2].map(() => JSON.stringify({ username: 'same', sub: 'same-1' })).join('\n')
    expect(await importing('same.jsonl', same)).toMatchObject({ rejected: 0 })
    expect(await importing('taken.jsonl', JSON.stringify({ username: 'other', sub: 'same-1' }))).toMatchObject({
      ...{ imported: 0, rejected: 1 },
    })
    for (const bad of [
      '{"username":1}',
      '[]',
      '{"username":"a\\u0000b"}',
      '{"username":"x","claims":{"sub":"y"}}',
      'null',
    ])
      expect(await importing('bad.jsonl', bad)).toMatchObject({ imported: 0, rejected: 1 })
    expect((await run('accounts', 'import', join(server.directory, 'missing.csv'))).code).toBe(1)
    expect((await run('accounts', 'import', server.directory, '--format', 'csv')).code).toBe(1)
  })

  it('writes each account to the audit log, without its password', async () => {
    const events = await server.audit()
    expect(events).toContainEqual(
      expect.objectContaining({ event: 'administration', action: 'account.add', imported: true, sub: 'kc-1' }),
    )
    expect(events).toContainEqual(
      expect.objectContaining({ event: 'administration', action: 'account.import', imported: 2, rejected: 2 }),
    )
    expect(JSON.stringify(events)).not.toMatch(/pbkdf2|\$2y\$/)
  })

  it('is undone for one person by `people erase`, after `accounts export`', async () => {
    const { stdout } = await run('accounts', 'export', '--subject', 'kc-1', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ sub: 'kc-1', account: { username: 'kc-user' }, audit_complete: true })
    expect(stdout).not.toContain('argon2')
    const erased = await run('people', 'erase', '--sub', 'kc-1')
    expect(erased.stdout).toMatch(/^Erased the account, 2 sessions, \d+ grants, .*\nThe audit log keeps its lines/)
    expect((await run('people', 'erase', '--sub', 'kc-1')).code).toBe(1)
    expect((await run('accounts', 'export', '--subject', 'kc-1')).code).toBe(1)
  })
})
