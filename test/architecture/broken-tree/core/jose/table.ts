import '../keys/ring.js'
