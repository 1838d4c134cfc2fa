/** `signet-idp/device/node`: keys and stores of `signet-idp/device` for services. */
export { fileKey } from './file-key.js'
export { fileStore } from './file-store.js'
export { pkcs11Key, type Pkcs11Key, type Pkcs11KeyOptions } from './pkcs11-key.js'
