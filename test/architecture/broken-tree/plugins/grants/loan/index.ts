import '../teller/index.js'
import '@aws-sdk/client-kms'
import 'https-proxy-agent'
