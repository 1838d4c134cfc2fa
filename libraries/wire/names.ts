/** The header with the attestation: a compact JWS. */
export const attestationHeader = 'x-attestation'
/** The header with the signature of this request: a compact JWS by the attested key. */
export const signatureHeader = 'x-signature'

/** `typ` of an attestation. */
export const attestationType = 'device-attestation+jwt'
/** `typ` of a request signature. */
export const requestSignatureType = 'device-signature+jwt'
/** `typ` of a person's decision about a request at `/approvals`. */
export const approvalType = 'approval+jwt'
/** `tag` of an HTTP message signature (RFC 9421 §2.3), which identifies ours among several. */
export const messageSignatureTag = 'signet-device'

/**
 * Verifiers refuse request signatures with a longer lifetime, because they have to remember the `jti` or `nonce` for
 * that long.
 */
export const longestLifetimeSeconds = 300

/** The header with a Workload Identity Token (draft-ietf-wimse-workload-creds-02 §5.1.1): a compact JWS. */
export const workloadIdentityHeader = 'workload-identity-token'
/** `typ` of a Workload Identity Token. */
export const workloadIdentityType = 'wit+jwt'
/** The scheme of `Authorization` with a Workload Proof Token (draft-ietf-wimse-wpt-02 §2). */
export const workloadProofScheme = 'WPT'
/** `typ` of a Workload Proof Token. */
export const workloadProofType = 'wpt+jwt'
/** The header with a transaction token, which a proof covers by its hash. */
export const transactionTokenHeader = 'txn-token'
