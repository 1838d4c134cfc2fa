import '../http/form.js'
import 'koa'
