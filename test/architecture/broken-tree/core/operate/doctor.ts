import '../http/app.js'
