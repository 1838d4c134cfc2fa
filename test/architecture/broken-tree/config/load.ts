import '../core/http/app.js'
