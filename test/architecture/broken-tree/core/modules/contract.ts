import '../host/compose.js'
