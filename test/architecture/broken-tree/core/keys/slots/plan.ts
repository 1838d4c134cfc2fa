import '../../endpoints/token.js'
