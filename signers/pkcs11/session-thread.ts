import { readSync, writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { PKCS11 } from 'pkcs11js'
import {
  frameReader,
  frameTypes,
  headerBytes,
  jsonFrame,
  type ChildOptions,
  type ControlRequest,
  type SessionReport,
} from './protocol.js'
import { users } from './login.js'
import { codeOf, failureOf, TokenFailure } from './return-codes.js'
import { openTokenSession, type TokenSession } from './token-session.js'

/**
 * The data that a thread starts with. `first`: it normally logs in for all; any other may find that the token grants
 * no more sessions.
 */
export interface ThreadData {
  readonly options: ChildOptions
  readonly fd: number
  readonly gate: Int32Array
  readonly first: boolean
}

/** Sent to the main thread. `denied`: the token grants no further session now. */
export type ThreadReport =
  SessionReport | { readonly event: 'ready' } | { readonly event: 'denied'; readonly reason: string }

const CKF_OS_LOCKING_OK = 2
const CKR_CRYPTOKI_ALREADY_INITIALIZED = 0x191
/** `CKR_ARGUMENTS_BAD` and `CKR_CANT_LOCK`: the library needs other parameters, or has no locks. */
const notAsConfigured = [0x07, 0x0a]
/** Longest time between the first answer of a batch and sending it. */
const holdMs = 2
const signatureHead = headerBytes + 12

const { options, fd, gate, first } = workerData as ThreadData
const report = (message: ThreadReport): void => parentPort?.postMessage(message)

const loadLibrary = async (): Promise<PKCS11> => {
  const pkcs11js = await import('pkcs11js').catch(() => {
    throw new TokenFailure(
      'refused',
      'the npm package pkcs11js is not installed or was not built: it needs a C++ compiler, make and python3; then run: npm rebuild pkcs11js',
    )
  })
  const lib = new pkcs11js.default.PKCS11()
  try {
    lib.load(options.module)
  } catch (error) {
    throw new TokenFailure(
      'refused',
      `${options.module} cannot be loaded as a PKCS#11 library: ${String((error as Error).message)}`,
    )
  }
  return lib
}

/**
 * Most libraries are initialised once per process. Some, such as p11-kit's, give each thread its own instance, which
 * has to be initialised too. Resolves with a function that finalises the thread's use after its session is closed.
 */
const initialize = (lib: PKCS11): (() => void) => {
  const { libraryParameters } = options
  try {
    // Without its locks, a library crashes as soon as two threads use it.
    lib.C_Initialize({ flags: CKF_OS_LOCKING_OK, ...(libraryParameters !== undefined && { libraryParameters }) })
    if (!first) return () => lib.C_Finalize()
  } catch (error) {
    if (notAsConfigured.includes(codeOf(error))) throw new TokenFailure('final', failureOf(error).message)
    if (first || codeOf(error) !== CKR_CRYPTOKI_ALREADY_INITIALIZED) throw error
  }
  Atomics.add(gate, users, 1)
  return () => {
    if (Atomics.sub(gate, users, 1) === 1) lib.C_Finalize()
  }
}

/** Reads requests and writes answers with blocking calls, without an event loop between the socket and the token. */
const serve = (session: TokenSession): void => {
  let answers: Buffer[] = []
  let heldSince = 0
  let counter = 0

  const flush = (): void => {
    if (answers.length === 0) return
    const all = answers.length === 1 ? (answers[0] ?? Buffer.alloc(0)) : Buffer.concat(answers)
    answers = []
    for (let at = 0; at < all.length;) at += writeSync(fd, all, at)
  }

  const sign = (body: Buffer): Buffer => {
    const begun = performance.now()
    const signature = session.sign(body.readUInt32LE(0), body.subarray(4))
    const frame = Buffer.allocUnsafe(signatureHead + signature.length)
    frame.writeUInt32LE(13 + signature.length, 0)
    frame[4] = frameTypes.signature
    frame.writeUInt32LE(session.handle, headerBytes)
    counter = (counter + 1) >>> 0
    frame.writeUInt32LE(counter, headerBytes + 4)
    frame.writeUInt32LE(Math.round((performance.now() - begun) * 1000), headerBytes + 8)
    frame.set(signature, signatureHead)
    return frame
  }

  const answer = (type: number, body: Buffer): Buffer => {
    try {
      if (type === frameTypes.sign) return sign(body)
      return jsonFrame(frameTypes.result, session.control(JSON.parse(body.toString()) as ControlRequest))
    } catch (error) {
      return jsonFrame(frameTypes.failure, failureOf(error))
    }
  }

  const take = frameReader((type, body) => {
    if (answers.length === 0) heldSince = performance.now()
    answers.push(answer(type, body))
    if (performance.now() - heldSince > holdMs) flush()
  })
  const room = Buffer.allocUnsafe(256 * 1024)
  for (;;) {
    const length = readSync(fd, room)
    if (length === 0) break
    take(room.subarray(0, length))
    flush()
  }
  session.close()
}

/** Errors at the end do not matter, because the process exits in any case. */
const ignoreErrors = (finalize: () => void): void => {
  try {
    finalize()
  } catch {
    return
  }
}

try {
  const lib = await loadLibrary()
  const finalize = initialize(lib)
  try {
    const session = openTokenSession({ lib, options, gate, report })
    report({ event: 'ready' })
    serve(session)
  } finally {
    ignoreErrors(finalize)
  }
} catch (error) {
  const failure = failureOf(error)
  const mayCome = !first && (failure.kind === 'retry' || failure.kind === 'reset')
  report(mayCome ? { event: 'denied', reason: failure.message } : { event: 'failed', failure })
}
