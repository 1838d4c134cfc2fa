import '../keys/algorithms.js'
