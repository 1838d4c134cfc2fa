import '../tokens/issuer.js'
import '../host/registry.js'
