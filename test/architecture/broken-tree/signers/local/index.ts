import '../shared/index.js'
import 'pkcs11js'
import '../../core/api/internal.js'
