import '../shared/index.js'
import 'pkcs11js'
