/** Makes CKA_SIGN of a private key false. Arguments: module, token, key; the PIN comes on standard input. */
const { readFileSync } = require('node:fs')
const p11 = require('pkcs11js')

const [, , library, token, label] = process.argv
const lib = new p11.PKCS11()
lib.load(library)
lib.C_Initialize({ flags: p11.CKF_OS_LOCKING_OK })
const slot = lib.C_GetSlotList(true).find((each) => lib.C_GetTokenInfo(each).label.trim() === token)
const session = lib.C_OpenSession(slot, p11.CKF_SERIAL_SESSION | p11.CKF_RW_SESSION)
lib.C_Login(session, p11.CKU_USER, readFileSync(0, 'utf8'))
lib.C_FindObjectsInit(session, [
  { type: p11.CKA_CLASS, value: p11.CKO_PRIVATE_KEY },
  { type: p11.CKA_LABEL, value: label },
])
const [key] = lib.C_FindObjects(session, 1)
lib.C_FindObjectsFinal(session)
lib.C_SetAttributeValue(session, key, [{ type: p11.CKA_SIGN, value: false }])
