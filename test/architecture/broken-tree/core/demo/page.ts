// The demo is below the host.
import '../host/compose.js'
