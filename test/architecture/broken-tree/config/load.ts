import '../core/json.js'
