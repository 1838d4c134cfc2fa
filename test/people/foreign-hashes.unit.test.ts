import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readPasswordHash } from '../../core/administration/import/password-notations.js'
import { findForeignScheme } from '../../core/interaction/foreign-hashes/foreign-hashes.js'
import { writeFirebase } from '../../core/interaction/foreign-hashes/scrypt.js'
import { createPasswordHasher } from '../../core/interaction/password-hasher.js'

const password = 'correct horse battery stäple'

/** Hashes of `password` that passlib 1.7.4, Werkzeug 3.1, Django 5.2 and argon2-cffi 25.1 have made. */
const made: Readonly<Record<string, string>> = {
  'passlib bcrypt': '$2b$04$IkGWNaUBEhz5W1xcFaumLuR8SIs7/IUG4nR7CsE/4mYzkZ9WWFCb.',
  'passlib bcrypt 2y': '$2y$04$gI1E0EewFHmRDoe1S4VLA.2QQLogb3I3AWqBwjlOSYPDYzd9DvGdO',
  'passlib bcrypt 2a': '$2a$04$H8fUn/QqjIw5cAxnewNkYOJyFyy7G.VSLDEHMXRYQpRpmMLx87R6K',
  'passlib pbkdf2': '$pbkdf2$1000$OIdQCgEAgBCCkPK.dy6ltA$9YWGq.1Up34VAX3ZAFCUk5PivqU',
  'passlib pbkdf2-sha256': '$pbkdf2-sha256$1000$GEOoNeb8v9d6r9V6b83Z2w$BhA9lwpZQxliIUHFZ85PtSi65XyALQyE8GreGuIoqTE',
  'passlib pbkdf2-sha512':
    '$pbkdf2-sha512$1000$wnjP.R/D.L83xnjvPYcwBg$Q3sm9LY8gvisH2O6kJOL.g0gAwXoe/aIJ57vYcPd1xoSNeUdj9WK/CnYLSDHAfeapH3L4FkY8ghJe1lQIrygZA',
  'passlib ldap_salted_sha1': '{SSHA}RE+ibSmmVAES6+ZFHxw8gdbBl7YspVQK',
  'passlib ldap_salted_sha256': '{SSHA256}lbsSdmq86SHjJriKfWzQkKyQHFkg9QhMsNK5OYRt8nV8D8F4r1VqDQ==',
  'passlib ldap_salted_sha512':
    '{SSHA512}B+o19nCWZ+LBLFgOogAepCZmRLFPBXvplH+euLs6JFicLLAHmbSbewRyr3cfKA1ZVDrrvPHEq5wSyR75HdFM0neulTLmXEvp',
  'passlib scrypt': '$scrypt$ln=10,r=8,p=1$EeK8V8o5J0RIiVFqrfX+vw$XWUeYgBgmBddfqyZBY42j/2whxbf2MKU+7kVHAhXUIM',
  'werkzeug pbkdf2':
    'pbkdf2:sha256:1000$iZxO6O7EgZyibieL$3ab3b525758f875f7ab9f1e5af71340139ae3fcaa326b97e1647589479504569',
  'werkzeug pbkdf2 sha512':
    'pbkdf2:sha512:1000$rq6IZYWcXQoivn5v$daff744a0a0709f69ee3f4499ec143872bd1a612b2555c97ad4f9ff34ba4067dd269f8e29c5f9dabaf709fbf6794b72a4130e7e64c8750e4af6699175b1f0d98',
  'werkzeug scrypt':
    'scrypt:1024:8:1$KxaKWvvMIwFzFYIM$13e4ab0b91e8d02c2626223168d2e833b889eb5afdb6ca1e52b852236e4c37c85a218a3846a640b8a6fa20de4d9cfaea07df75232e40a72e0a2bb6a20d2050b7',
  'django pbkdf2_sha256': 'pbkdf2_sha256$1000$seasalt12345$XQF+2HzuF0FNqHdp61KCdehb5OO3un35VHlc2pJ28Ck=',
  'django pbkdf2_sha1': 'pbkdf2_sha1$1000$seasalt12345$F83/ZtF2jch168CwOV46cRSRMxs=',
  'django scrypt':
    'scrypt$1024$seasalt12345$8$5$nzFcKhCeQtBvGS/VkTgpYjLWlM7cxBlP1vQZy6/vn0mPTbIZFPffVhX436ghMxNFrjDaSB6WWKAsVrKbnaPASQ==',
  'django bcrypt': 'bcrypt$$2b$04$Fqquj/MGbkSl3yWSmJ4TKePKXJ/kEp.rGWvurmSYyp2rZGQG7JPTe',
  'django argon2': 'argon2$argon2id$v=19$m=102400,t=2,p=8$c2Vhc2FsdDEyMzQ1$huvDIsfUxqDk0ssn4g4txtNvrYw4NFuZLD2KHy2heX8',
  'argon2-cffi i': '$argon2i$v=19$m=512,t=2,p=2$9NBi7ud1z3Hq8JDiPkqRNQ$2fGK/Dv3wGf3yCCfEhXY5B5KfdfwtelUXUzziiI4cpU',
  'argon2-cffi d': '$argon2d$v=19$m=512,t=2,p=2$s3SqCLHRdV2REJptM6v2cg$qa8ik6NNueHTrp3/Y5HXi8JZIStTZvtmarfAkWkJrL0',
  'argon2-cffi id': '$argon2id$v=19$m=512,t=2,p=2$s8YiWa5MuWjsZeFWGPf0vg$L69Dzh+EzvgKfNY8J8OvVYsDDyKMDCjELf+nsnmzwn8',
}

/** Hashes of other passwords, from the tests and examples of the products themselves. */
const published: readonly (readonly [from: string, hash: string, password: string])[] = [
  ['ASP.NET Identity 2', 'AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggHIVY0sdEUfdyeM+E1LtH1uJg==', 'my password'],
  ['ASP.NET Identity 3, SHA-1', 'AQAAAAAAAAD6AAAAEAhftMyfTJylOlZT+eEotFXd1elee8ih5WsjXaR3PA9M', 'my password'],
  [
    'ASP.NET Identity 3, SHA-256',
    'AQAAAAEAA9CQAAAAIESkQuj2Du8Y+kbc5lcN/W/3NiAZFEm11P27nrSN5/tId+bR1SwV8CO1Jd72r4C08OLvplNlCDc3oQZ8efcW+jQ=',
    'my password',
  ],
  [
    'Keycloak, pbkdf2-sha256 of 64 bytes',
    '$pbkdf2-sha256$i=27500$EPgscX9CQz7UnuZDNZxtMw$KqABIiReBuRWbP4pBct3W067pNvYzeN7ILBV+8vT8nuF5cgYs2fdl2QikJT/7bGTW/PBXg6CYLwJQFYrBK9MWg',
    'alice-password',
  ],
  [
    'Keycloak, pbkdf2-sha256 of 32 bytes',
    '$pbkdf2-sha256$i=27500$AGHjXoWftkFxnk/dcZRNnA$9qur72LAICdhFeb2SpkJt2jbOYaxJ44g9T+E7bmJXxI',
    'user1',
  ],
  [
    'Firebase',
    writeFirebase({
      ...{ ln: 14, r: 8, separator: Buffer.from('Bw==', 'base64'), salt: Buffer.from('42xEC+ixf3L2lw==', 'base64') },
      signerKey: Buffer.from(
        'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
        'base64',
      ),
      hash: Buffer.from(
        'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
        'base64',
      ),
    }),
    'user1password',
  ],
]

const all = [...Object.entries(made).map(([from, hash]) => [from, hash, password] as const), ...published]

describe('hashes of other products', () => {
  const hasher = createPasswordHasher()

  it.each(all)('of %s are verified with the right password alone', async (_from, written, right) => {
    const hash = readPasswordHash(written)!
    expect(hash).toEqual(expect.any(String))
    expect(await hasher.verify(right, hash)).toBe(true)
    for (const wrong of [`${right} `, right.slice(1), '', right.toUpperCase()])
      expect(await hasher.verify(wrong, hash)).toBe(false)
    expect(hasher.isOwn(hash)).toBe(false)
  })

  it.runIf(existsSync('/usr/bin/htpasswd'))('of htpasswd are verified', async () => {
    const line = execFileSync('htpasswd', ['-nbB', '-C', '5', 'user', password], { encoding: 'utf8' })
    expect(await hasher.verify(password, readPasswordHash(line.trim().slice('user:'.length)))).toBe(true)
  })

  it('are not needed for a password that this version has hashed', async () => {
    const hash = await hasher.hash(password)
    expect(hasher.isOwn(hash)).toBe(true)
    expect(await hasher.verify(password, hash)).toBe(true)
  })

  it('are accepted with a password typed with other code points for the same characters', async () => {
    const hash = readPasswordHash(made['passlib pbkdf2-sha256']!)!
    expect(await hasher.verify(password.normalize('NFD'), hash)).toBe(true)
  })

  it.each([
    '$2b$14$vgs6y5/HN0gEDmq4Sa3Awu4ZOx4ABcxQKA7Tgr.beYUI7X80begl.',
    '$2b$31$vgs6y5/HN0gEDmq4Sa3Awu4ZOx4ABcxQKA7Tgr.beYUI7X80begl.',
    '$2b$03$vgs6y5/HN0gEDmq4Sa3Awu4ZOx4ABcxQKA7Tgr.beYUI7X80begl.',
    '$2b$04$vgs6y5/HN0gEDmq4Sa3Awu4ZOx4ABcxQKA7Tgr.beYUI7X80begl',
    '$pbkdf2-sha256$i=99999999$EPgscX9CQz7UnuZDNZxtMw$9qur72LAICdhFeb2SpkJt2jbOYaxJ44g9T+E7bmJXxI',
    '$pbkdf2-sha256$i=2000000$EPgscX9CQz7UnuZDNZxtMw$KqABIiReBuRWbP4pBct3W067pNvYzeN7ILBV+8vT8nuF5cgYs2fdl2QikJT/7bGTW/PBXg6CYLwJQFYrBK9MWg',
    '$pbkdf2-sha256$i=0$EPgscX9CQz7UnuZDNZxtMw$9qur72LAICdhFeb2SpkJt2jbOYaxJ44g9T+E7bmJXxI',
    '$pbkdf2-md5$i=1000$EPgscX9CQz7UnuZDNZxtMw$9qur72LAICdhFeb2SpkJt2jbOYaxJ44g9T+E7bmJXxI',
    '$scrypt$ln=20,r=8,p=1$A8CYkzLmvFcq5TwH4Dwn5A$STeAEZfCWkgcUK+KO3grZB/hJNvHBPASGqnfC9xVA6w',
    '$scrypt$ln=14,r=8,p=99$A8CYkzLmvFcq5TwH4Dwn5A$STeAEZfCWkgcUK+KO3grZB/hJNvHBPASGqnfC9xVA6w',
    '$argon2id$v=19$m=9999999,t=2,p=2$MA1NdQk4SpL+JeY9NjSgGg$ueYm+S1nWXjyAq5zBzWqo+rezg4jjEVaO7F7JCCSHtw',
    '$argon2id$v=19$m=65536,t=99,p=2$MA1NdQk4SpL+JeY9NjSgGg$ueYm+S1nWXjyAq5zBzWqo+rezg4jjEVaO7F7JCCSHtw',
    'pbkdf2_sha256$999999999$seasalt12345$XQF+2HzuF0FNqHdp61KCdehb5OO3un35VHlc2pJ28Ck=',
    'scrypt:1023:8:1$aJms5pUgi0yqIYoF$d4c52413a427092270cf479e4470c7ae',
    'AQAAAAEAA9CQ/////0SkQuj2Du8Y+kbc5lcN/W/3NiAZFEm11P27nrSN5/tId+bR1SwV8CO1Jd72r4C08OLvplNlCDc3oQZ8efcW+jQ=',
    '{SSHA}nxRjwCoEeoFFMJA6gaA0JVEjgzg=',
    '{SHA}nxRjwCoEeoFFMJA6gaA0JVEjgzg=',
    '5f4dcc3b5aa765d61d8327deb882cf99',
    'password',
    '',
  ])('AD23 %s is refused: unknown, without salt, or too much work for a sign-in', async (hash) => {
    expect(readPasswordHash(hash)).toBeUndefined()
    expect(findForeignScheme(hash)).toBeUndefined()
    expect(await hasher.verify('password', hash)).toBe(false)
  })
})
