import { z } from 'zod'
import {
  algorithms,
  BadJwk,
  checkPublicJwk,
  defineSigner,
  KeyRefused,
  keyTypes,
  longestSignature,
  type JwsAlg,
  type PublicJwk,
  type Signer,
  type SignerProvider,
} from '../../core/api/signer.js'
import { describeModule } from './module-file.js'
import { supervise, type Supervisor } from './supervisor.js'
import { keyUri, parseKeyUri, parseTokenOption, sameToken, type KeySelector } from './uri.js'

const tokenOption = z
  .string()
  .min(1)
  .transform((text, context) => {
    try {
      return parseTokenOption(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'is not a token' })
      return z.NEVER
    }
  })

const options = z.strictObject({
  /** The vendor's library. The path is absolute, so that no search path decides which library gets the PIN. */
  module: z.string().regex(/^\/[^\0]+$/, 'must be the absolute path of the PKCS#11 library'),
  /** The label of the token, or a URI with `token`, `serial`, `manufacturer`, `model`, `slot-id` (RFC 7512). */
  token: tokenOption,
  pin: z.string().min(1).max(255),
  /** Concurrent signing sessions. */
  sessions: z.int().min(1).max(64).default(4),
  /** A token that is silent for this long counts as hanging. */
  deadline_ms: z.int().min(100).max(60_000).default(2000),
  /** Seconds between two probes of a key. Default: 30. */
  probe_secs: z.int().min(5).max(3600).optional(),
  /** The argument of `C_Initialize` for a library that takes its configuration there, such as NSS. */
  library_parameters: z.string().min(1).max(4096).optional(),
  /** Variables for the vendor's library, which gets no others of ours. */
  environment: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string()).default({}),
})

/** A token may take seconds to create an RSA key. */
const createMs = 60_000
/** Milliseconds to read all private keys of a token. */
const lookMs = 10_000

const checkFit = (ref: string, alg: JwsAlg, jwk: PublicJwk): PublicJwk => {
  try {
    return checkPublicJwk(jwk, [alg]).jwk
  } catch (error) {
    const why = error instanceof BadJwk ? error.message : 'The key is not accepted.'
    throw new KeyRefused(`${ref} cannot sign ${alg}, which needs a key of type ${algorithms[alg].keyType}. ${why}`)
  }
}

/** A URI may come from anywhere, so only a useful part of it is shown. */
const shown = (ref: string): string => ref.slice(0, 120).replace(/[^\x20-\x7e]/g, '?')

const withRef = (ref: string, error: unknown): unknown =>
  error instanceof KeyRefused ? new KeyRefused(`${shown(ref)}: ${error.message}`, { cause: error }) : error

const openSigner = (supervisor: Supervisor, number: number, alg: JwsAlg, publicJwk: PublicJwk): Signer =>
  Object.freeze({
    alg,
    publicJwk,
    sign: (message, signal, trace) => supervisor.sign(number, message, signal, trace),
  } satisfies Signer)

/** The label of a new key, or what a URI says of it. Throws `KeyRefused`. */
const selectorOf = (name: string): KeySelector => {
  if (name.startsWith('pkcs11:')) return parseKeyUri(name).key
  if (name === '' || Buffer.byteLength(name) > 128) throw new KeyRefused(labelRule)
  return { object: name }
}

const labelRule = 'the name of a new key must be a label of 1 to 128 bytes, or a URI with an object'

/** Keys in a PKCS#11 token. The vendor's library runs in its own supervised process. */
export default defineSigner<z.infer<typeof options>>({
  name: 'pkcs11',
  apiVersion: 1,
  options,
  create(given, { log }): SignerProvider {
    const {
      module,
      token,
      pin,
      sessions,
      deadline_ms: deadlineMs,
      environment,
      library_parameters: libraryParameters,
    } = given
    const child = {
      ...{ module, token, pin, sessions, signatureBytes: longestSignature },
      ...(libraryParameters !== undefined && { libraryParameters }),
    }
    const supervisor = supervise({ child, environment, deadlineMs, log })
    let keys = 0
    return {
      get concurrency() {
        return supervisor.room
      },
      get refusal() {
        return supervisor.refusal
      },
      probeSeconds: given.probe_secs,
      async open(ref, alg, signal) {
        signal.throwIfAborted()
        const uri = parseKeyUri(ref)
        if (!sameToken(token, uri.token))
          throw new KeyRefused(`${shown(ref)}: names a token other than the one that the signer is configured for`)
        const { members } = keyTypes[algorithms[alg].keyType]
        const request = { do: 'open', number: keys++, key: uri.key, token: uri.token, alg, members } as const
        try {
          const published = checkFit(shown(ref), alg, await supervisor.open(request, signal))
          const number = await supervisor.adopt({ ...request, published }, signal)
          return openSigner(supervisor, number, alg, published)
        } catch (error) {
          throw withRef(ref, error)
        }
      },
      async ping(signal) {
        await supervisor.ask({ do: 'ping' }, signal)
      },
      async create(ref, alg, signal) {
        signal.throwIfAborted()
        const { object: label } = selectorOf(ref)
        if (label === undefined || Buffer.byteLength(label) > 128) throw new KeyRefused(labelRule)
        const made = await supervisor.ask({ do: 'create', label, alg }, signal, createMs)
        if (made.otherUses.length > 0)
          log.warn('The token left other uses on for the new key.', { uses: made.otherUses.join(', ') })
        return keyUri({ token: made.token.token ?? '' }, made.key)
      },
      async find(name, signal, tags) {
        signal.throwIfAborted()
        const request = { do: 'find', key: selectorOf(name) } as const
        let found = await supervisor.ask(request, signal, lookMs)
        // An earlier call may have made it in another process, and libraries keep lists of objects.
        if (found.keys.length === 0 && tags !== undefined) found = await supervisor.askAnother(request, signal, lookMs)
        return found.keys.map((key) => keyUri({ token: found.token.token ?? '' }, key))
      },
      async list(prefix, _deployment, signal) {
        signal.throwIfAborted()
        const found = await supervisor.ask({ do: 'list', prefix }, signal, lookMs)
        return found.keys.map((key) => ({
          ref: keyUri({ token: found.token.token ?? '' }, key),
          ...(key.object !== undefined && { name: key.object }),
        }))
      },
      async inspect(ref, signal) {
        signal.throwIfAborted()
        try {
          return await supervisor.ask({ do: 'inspect', key: parseKeyUri(ref).key }, signal, lookMs)
        } catch (error) {
          throw withRef(ref, error)
        }
      },
      async facts(signal) {
        signal.throwIfAborted()
        const facts = await supervisor.ask({ do: 'facts' }, signal, lookMs)
        return { ...facts, module: { ...(await describeModule(module)), ...facts['module'] } }
      },
      describe: () => {
        const names = Object.keys(environment)
        return `the library sees only the variables that \`environment\` names: ${names.join(', ') || 'none'}`
      },
      [Symbol.asyncDispose]: () => supervisor[Symbol.asyncDispose](),
    }
  },
})
