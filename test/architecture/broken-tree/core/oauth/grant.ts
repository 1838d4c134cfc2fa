import '../api/index.js'
