/** A process of its own that opens a key of a directory on request, and says which key it found. */
import local from '../../../signers/local/index.js'
import { signerServices } from './services.js'

process.on('message', (order: { directory: string; ref: string }) => {
  void (async () => {
    const provider = await local.create({ directory: order.directory, create: true }, signerServices)
    const signer = await provider.open(order.ref, 'ES256', new AbortController().signal)
    process.send?.(signer.publicJwk)
  })()
})
process.send?.('ready')
