import { definePlugin, OAuthError, type ClientAuthenticator, type ClientCertificate } from '../../../core/api/index.js'
import { detectByCertificate } from '../../../core/api/internal.js'

const refusal = (reason: string): OAuthError =>
  new OAuthError('invalid_client', 'Client authentication failed.', { reason })

/**
 * `self_signed_tls_client_auth` (RFC 8705 §2.2): a certificate for a key that the client registered. No authority is
 * needed; only its own validity period is checked.
 */
export default definePlugin({
  name: 'client-auth/self-signed-tls-client-auth',
  apiVersion: 1,
  needs: ['clientCertificates', 'clientKeys'],
  create(_options, { clientCertificates, clientKeys }) {
    const selfSigned: ClientAuthenticator<ClientCertificate> = {
      method: 'self_signed_tls_client_auth',
      detect: detectByCertificate,
      async authenticate(client, certificate) {
        const read = clientCertificates.read(certificate)
        if (read === undefined) throw refusal('the certificate does not parse')
        const fault = clientCertificates.findTimeFault(read)
        if (fault !== undefined) throw refusal(`the certificate is of no use: ${fault}`)
        const keys = await clientKeys.find(client, { publicKey: read.x509.publicKey })
        if (keys.length === 0) throw refusal('the key of the certificate is none of the client')
        return {}
      },
    }
    return { clientAuthenticators: [selfSigned] }
  },
})
