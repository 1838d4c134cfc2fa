import type { Handle, PKCS11 } from 'pkcs11js'
import type { BackendFacts } from '../../core/api/signer.js'
import { said } from './login.js'

const versionOf = ({ major, minor }: { readonly major: number; readonly minor: number }): string =>
  `${String(major)}.${String(minor)}`

/** Returns the facts of the library and the token (PKCS#11 v2.40 §3.1, §3.2: `CK_INFO`, `CK_TOKEN_INFO`). */
export const readFacts = (lib: PKCS11, slot: Handle): BackendFacts => {
  const library = lib.C_GetInfo()
  const token = lib.C_GetTokenInfo(slot)
  return {
    module: {
      manufacturer: said(library.manufacturerID),
      description: said(library.libraryDescription),
      version: versionOf(library.libraryVersion),
      cryptoki: versionOf(library.cryptokiVersion),
    },
    token: {
      label: said(token.label),
      serial: said(token.serialNumber),
      manufacturer: said(token.manufacturerID),
      model: said(token.model),
    },
    firmware: { hardware: versionOf(token.hardwareVersion), firmware: versionOf(token.firmwareVersion) },
  }
}
