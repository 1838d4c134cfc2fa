import './keys/ring.js'
import './host/compose.js'
import './cli/start.js'
import './http/app.js'
