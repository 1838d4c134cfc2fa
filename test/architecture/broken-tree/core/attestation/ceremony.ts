import '../host/registry.js'
