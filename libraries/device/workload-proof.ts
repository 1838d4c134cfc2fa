import { base64url } from 'jose'
import {
  transactionTokenHeader,
  workloadIdentityHeader,
  workloadProofScheme,
  workloadProofType,
} from '../wire/names.js'
import { signCompact } from './key.js'
import { digest, lifetime, withHeaders, type Signing } from './sign.js'

export interface WorkloadSignOptions {
  /** Seconds that the proof is valid. Default 60, at most 300. */
  readonly expiresIn?: number
}

/** Adds a Workload Identity Token and the proof of its key (draft-ietf-wimse-wpt-02 §2). */
export const addWorkloadProof = async (
  request: Request,
  token: string,
  { key, now }: Omit<Signing, 'attestation'>,
  { expiresIn = 60 }: WorkloadSignOptions,
): Promise<Request> => {
  // §2.2: the proof is the workload's only credential.
  if (request.headers.has('authorization')) throw new TypeError('The request has an Authorization header already.')
  const { origin, pathname } = new URL(request.url)
  const transaction = request.headers.get(transactionTokenHeader)
  const claims = {
    aud: `${origin}${pathname}`,
    exp: lifetime(expiresIn, now).exp,
    jti: crypto.randomUUID(),
    wth: await sha256(token),
    ...(transaction !== null && { tth: await sha256(transaction) }),
  }
  const proof = await signCompact(key, { typ: workloadProofType }, claims)
  return withHeaders(request, undefined, {
    [workloadIdentityHeader]: token,
    authorization: `${workloadProofScheme} ${proof}`,
  })
}

const sha256 = async (text: string): Promise<string> => base64url.encode(await digest(new TextEncoder().encode(text)))
