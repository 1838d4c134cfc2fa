import '../cli/start.js'
