import '../endpoints/token.js'
