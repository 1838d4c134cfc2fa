// What is stored knows no HTTP.
import '../http/app.js'
