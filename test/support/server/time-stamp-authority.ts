import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A time stamp authority (RFC 3161) made of `openssl ts`, behind HTTP. */
export interface TimeStampAuthority extends AsyncDisposable {
  readonly url: string
  /** The file of its root certificate, in PEM. */
  readonly ca: string
  /** The file of a root certificate of somebody else. */
  readonly otherCa: string
  /** Gives this answer from now on, whatever the question; without one, its own. */
  answer(bytes: Uint8Array | undefined): void
  /** The last answer that was given. */
  last(): Buffer
}

const configuration = (folder: string, caUsage: string): string => `
[tsa]
default_tsa = main
[main]
dir = ${folder}
serial = $dir/serial
crypto_device = builtin
signer_cert = $dir/tsa.pem
certs = $dir/ca.pem
signer_key = $dir/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha384, sha512
ess_cert_id_alg = sha256
accuracy = secs:1
[ca]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
${caUsage}
[leaf]
basicConstraints = CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
[req]
distinguished_name = name
[name]
`

export interface AuthorityOptions {
  readonly curve?: boolean
  /** What its root may be used for alone. */
  readonly caUsage?: string
  /** The hash by which it names its certificate. */
  readonly essHash?: 'sha1' | 'sha256' | 'sha512'
}

export const openTimeStampAuthority = async (options: AuthorityOptions = {}): Promise<TimeStampAuthority> => {
  const { curve = false, caUsage, essHash = 'sha256' } = options
  const folder = await mkdtemp(join(tmpdir(), 'signet-tsa-'))
  const openssl = (...args: string[]) => run('openssl', args, { cwd: folder })
  await writeFile(
    join(folder, 'tsa.cnf'),
    configuration(folder, caUsage === undefined ? '' : `extendedKeyUsage = ${caUsage}`).replace(
      'id_alg = sha256',
      `id_alg = ${essHash}`,
    ),
  )
  await writeFile(join(folder, 'serial'), '01\n')
  const key = curve ? ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'] : ['-newkey', 'rsa:2048']
  const config = ['-config', 'tsa.cnf', '-nodes', '-sha256']
  for (const name of ['ca', 'other'])
    await openssl(
      ...['req', '-x509', ...key, ...config, '-days', '30', '-extensions', 'ca', '-subj', `/CN=Time ${name}`],
      ...['-keyout', `${name}.key`, '-out', `${name}.pem`],
    )
  await openssl('req', ...key, ...config, '-subj', '/O=Time/CN=Stamps', '-keyout', 'tsa.key', '-out', 'tsa.csr')
  await openssl(
    ...['x509', '-req', '-in', 'tsa.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '20'],
    ...['-sha256', '-extfile', 'tsa.cnf', '-extensions', 'leaf', '-out', 'tsa.pem'],
  )
  let [fixed, given]: (Uint8Array | undefined)[] = []
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      await writeFile(join(folder, 'query.tsq'), await buffer(request))
      await openssl('ts', '-reply', '-config', 'tsa.cnf', '-queryfile', 'query.tsq', '-out', 'reply.tsr')
      given = fixed ?? (await readFile(join(folder, 'reply.tsr')))
      response.writeHead(200, { 'content-type': 'application/timestamp-reply' }).end(given)
    }
    answer().catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`,
    ca: join(folder, 'ca.pem'),
    otherCa: join(folder, 'other.pem'),
    answer: (bytes) => void (fixed = bytes),
    last: () => Buffer.from(given ?? []),
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await rm(folder, { recursive: true })
    },
  }
}
