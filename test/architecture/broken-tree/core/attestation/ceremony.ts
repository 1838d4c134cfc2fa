import '../host/registry.js'
import '../../libraries/device/digest.mjs'
