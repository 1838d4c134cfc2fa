/**
 * Measures the library alone: one session, `C_SignInit` and `C_Sign` in a loop. Arguments: module, token, key,
 * algorithm, seconds; the PIN comes on standard input. Prints signatures a second.
 */
const { createHash } = require('node:crypto')
const { readFileSync } = require('node:fs')
const p11 = require('pkcs11js')

const [, , module_, token, label, alg, seconds] = process.argv
const lib = new p11.PKCS11()
lib.load(module_)
lib.C_Initialize({ flags: p11.CKF_OS_LOCKING_OK })
const slot = lib.C_GetSlotList(true).find((each) => lib.C_GetTokenInfo(each).label.trim() === token)
const session = lib.C_OpenSession(slot, p11.CKF_SERIAL_SESSION)
lib.C_Login(session, p11.CKU_USER, readFileSync(0, 'utf8').trim())
lib.C_FindObjectsInit(session, [
  { type: p11.CKA_CLASS, value: p11.CKO_PRIVATE_KEY },
  { type: p11.CKA_LABEL, value: label },
])
const [key] = lib.C_FindObjects(session, 1)
lib.C_FindObjectsFinal(session)

const pss = { type: p11.CK_PARAMS_RSA_PSS, hashAlg: p11.CKM_SHA256, mgf: p11.CKG_MGF1_SHA256, saltLen: 32 }
const mechanisms = {
  RS256: { mechanism: p11.CKM_SHA256_RSA_PKCS },
  RS384: { mechanism: p11.CKM_SHA384_RSA_PKCS },
  RS512: { mechanism: p11.CKM_SHA512_RSA_PKCS },
  PS256: { mechanism: p11.CKM_SHA256_RSA_PKCS_PSS, parameter: pss },
  ES256: { mechanism: p11.CKM_ECDSA },
  ES384: { mechanism: p11.CKM_ECDSA },
  EdDSA: { mechanism: 0x1057 },
}
const digests = { ES256: 'sha256', ES384: 'sha384' }
const message = Buffer.alloc(600, 'x')
const room = Buffer.alloc(1024)

const loop = (milliseconds) => {
  const begun = performance.now()
  let made = 0
  while (performance.now() - begun < milliseconds) {
    const data = alg in digests ? createHash(digests[alg]).update(message).digest() : message
    lib.C_SignInit(session, mechanisms[alg], key)
    lib.C_Sign(session, data, room)
    made++
  }
  return made / ((performance.now() - begun) / 1000)
}
loop(300)
process.stdout.write(String(loop(Number(seconds) * 1000)))
