import '../teller/index.js'
import '@aws-sdk/client-kms'
