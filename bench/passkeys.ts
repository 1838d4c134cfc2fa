import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import type { FactorSetup, SignInAttempt, SignInMethod } from '../core/api/index.js'
import type { PasskeyEnrolment } from '../core/api/internal.js'
import { collections } from '../core/collections/collections.js'
import type { Passkey } from '../core/interaction/factors/person-factor.js'
import { createPersonFactors, factorId, type PersonFactors } from '../core/interaction/factors/person-factors.js'
import { subjectRecordId } from '../core/oauth/subjects/subject-records.js'
import { openEmbedded } from '../stores/embedded/open-embedded.js'
import { openMongodb } from '../stores/mongodb/open-mongodb.js'
import passkey from '../plugins/login/passkey/index.js'
import { attemptOf, newChallenge } from '../test/support/clients/sign-in-attempt.js'
import { SoftwareAuthenticator } from '../test/support/clients/software-authenticator.js'
import { startMongo } from '../test/support/stores/mongo-server/start.js'
import { bulkLoadMongodb, bulkLoadRecords } from './bulk-load.js'

/**
 * Measures the passkey plugin's options and sign-in among the passkeys of everybody, with one caller, including reads
 * and the durable write of the counter. `--store mongodb` uses the stand-in.
 */
const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'embedded' },
    passkeys: { type: 'string', default: '1000000' },
    people: { type: 'string', default: '2000' },
  },
})
const [passkeys, people] = [Number(values.passkeys), Number(values.people)]
const max_size_mb = 65_536
const origin = 'https://id.bank.example'
const clock = Date.now

await using server = values.store === 'mongodb' ? await startMongo(0, 1024 + Math.ceil(passkeys / 500)) : undefined
const path = mkdtempSync(join(tmpdir(), 'signet-passkeys-'))
await using backend = server
  ? await openMongodb({ uri: server.uri(), database: server.database, clock, timeoutFactor: 20 })
  : await openEmbedded({ path, clock, max_size_mb })
const { personFactors: store } = collections({ records: backend, ephemeral: backend } as never)
const factors = createPersonFactors({ store, clock })

const validated = passkey.options?.['~standard'].validate({}) as { readonly value: never }
const open = async (personFactors: PersonFactors) => {
  const services = { clock, issuer: `${origin}/op`, personFactors }
  const { signIn = [], factorEnrolment } = await passkey.create(validated.value, services)
  return { method: signIn[0] as SignInMethod, enrolment: factorEnrolment as PasskeyEnrolment }
}
const { method, enrolment } = await open(factors)
const { method: unwritten } = await open({ ...factors, usePasskey: async () => true })

const setupOf = async (subject: string): Promise<FactorSetup> => ({
  ...{ subject, accountName: subject, challenge: newChallenge(), factors: await factors.list(subject) },
})

/** Two in three people have two passkeys, the others one. They come before the people who sign in. */
const others = passkeys - people
const model = await (async (): Promise<Passkey> => {
  const setup = await setupOf('model')
  const answer = new SoftwareAuthenticator(origin).register(await enrolment.begin(setup))
  const made = await enrolment.finish(setup, { answer, name: 'Phone' })
  if (made.outcome !== 'made') throw new Error(made.why)
  return made.factor
})()
const begun = performance.now()
const load = server ? bulkLoadMongodb(server.uri(), server.database) : bulkLoadRecords((name) => backend.records(name))
await load('person_factors', others, (index) => {
  const subject = `other-${String(Math.floor((index * 3) / 5))}`
  const record = { ...model, credentialId: newChallenge(), subject }
  return { id: subjectRecordId(subject, factorId(record)), record }
})

const authenticators = Array.from({ length: people }, () => new SoftwareAuthenticator(origin))
for (const [index, authenticator] of authenticators.entries()) {
  authenticator.counter = 1
  const setup = await setupOf(`person-${String(index)}`)
  const answer = authenticator.register(await enrolment.begin(setup))
  const made = await enrolment.finish(setup, { answer, name: 'Phone' })
  if (made.outcome !== 'made') throw new Error(made.why)
  await factors.addPasskey(setup.subject, made.factor)
}
process.stderr.write(`loaded in ${((performance.now() - begun) / 1000).toFixed(0)} s\n`)

const optionsOf = async (attempt: SignInAttempt) => {
  const prompt = await method.begin(attempt)
  if (prompt.kind !== 'ceremony') throw new Error(`the prompt is ${prompt.kind}`)
  return prompt.options
}

/** Milliseconds per person, in random order. `ready` is not timed. */
const time = async <T>(
  ready: (authenticator: SoftwareAuthenticator, subject: string) => Promise<T>,
  work: (given: T) => Promise<unknown>,
): Promise<readonly number[]> => {
  const order = authenticators
    .map((authenticator, index) => ({ authenticator, subject: `person-${String(index)}`, place: Math.random() }))
    .toSorted((one, other) => one.place - other.place)
  const took: number[] = []
  for (const { authenticator, subject } of order) {
    const given = await ready(authenticator, subject)
    const start = performance.now()
    await work(given)
    took.push(performance.now() - start)
  }
  return took.toSorted((one, other) => one - other)
}

const mustPass = async (attempt: SignInAttempt, answer: string, by = method): Promise<void> => {
  const { outcome } = await by.finish(attempt, { answer })
  if (outcome !== 'passed') throw new Error(`a sign-in was ${outcome}`)
}
const answered = async (authenticator: SoftwareAuthenticator, attempt: SignInAttempt) => ({
  attempt,
  answer: authenticator.signIn(await optionsOf(attempt)),
})
const second = (subject: string) => attemptOf({ passed: { subject, amr: ['pwd'] } })

const rows = {
  'options, nobody known': await time(() => Promise.resolve(attemptOf()), optionsOf),
  'options, second factor': await time((_, subject) => Promise.resolve(second(subject)), optionsOf),
  'options of a registration': await time(
    (_, subject) => Promise.resolve(subject),
    async (subject) => enrolment.begin(await setupOf(subject)),
  ),
  'sign-in by user handle': await time(
    (authenticator) => answered(authenticator, attemptOf()),
    ({ attempt, answer }) => mustPass(attempt, answer),
  ),
  'of that, all but the write': await time(
    (authenticator) => answered(authenticator, attemptOf()),
    ({ attempt, answer }) => mustPass(attempt, answer, unwritten),
  ),
  'of that, the durable write': await time(
    (authenticator, subject) =>
      Promise.resolve({ subject, id: authenticator.id, counter: (authenticator.counter += 1) }),
    ({ subject, id, counter }) => factors.usePasskey(subject, id, { counter, backedUp: false }),
  ),
  'sign-in as second factor': await time(
    (authenticator, subject) => answered(authenticator, second(subject)),
    ({ attempt, answer }) => mustPass(attempt, answer),
  ),
}
const table = new Table({ head: ['', 'p50 ms', 'p99 ms', 'most ms'], style: { head: [], border: [] } })
for (const [name, took] of Object.entries(rows))
  table.push([name, ...[0.5, 0.99, 1].map((part) => (took[Math.ceil(people * part) - 1] ?? NaN).toFixed(2))])
console.log(
  `${values.store}: ${passkeys.toLocaleString('en-US')} passkeys, ${people.toLocaleString('en-US')} sign-ins each`,
)
console.log(table.toString())
rmSync(path, { recursive: true })
