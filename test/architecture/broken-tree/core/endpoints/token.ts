import '../http/form.js'
import 'koa'
import './revoke.js'
