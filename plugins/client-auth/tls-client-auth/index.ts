import { definePlugin, OAuthError, type ClientAuthenticator, type ClientCertificate } from '../../../core/api/index.js'
import { detectByCertificate, isForSubject } from '../../../core/api/internal.js'

const refusal = (reason: string, isOfChain = false): OAuthError =>
  new OAuthError('invalid_client', 'Client authentication failed.', { reason, isOfChain })

/** `tls_client_auth` (RFC 8705 §2.1): a certificate that a trust anchor has issued for the registered subject. */
export default definePlugin({
  name: 'client-auth/tls-client-auth',
  apiVersion: 1,
  needs: ['clientCertificates'],
  create(_options, { clientCertificates }) {
    const tlsClientAuth: ClientAuthenticator<ClientCertificate> = {
      method: 'tls_client_auth',
      detect: detectByCertificate,
      async authenticate(client, certificate) {
        const read = clientCertificates.read(certificate)
        if (read === undefined) throw refusal('the certificate does not parse')
        if (!isForSubject(read, client)) throw refusal('the certificate is for another subject')
        const fault = clientCertificates.findFault(certificate)
        if (fault !== undefined) throw refusal(`the certificate is not trusted: ${fault}`, true)
        return {}
      },
    }
    return { clientAuthenticators: [tlsClientAuth] }
  },
})
