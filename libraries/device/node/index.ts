/** `signet-idp/device/node`: where services keep key and attestation of `signet-idp/device`. */
export { fileKey } from './file-key.js'
export { fileStore } from './file-store.js'
export { pkcs11Key, type Pkcs11Key, type Pkcs11KeyOptions } from './pkcs11-key.js'
