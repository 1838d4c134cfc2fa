import '../unavailable.js'
