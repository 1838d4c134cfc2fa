import '../interaction/session.js'
import '../storage/open.js'
import 'reflect-metadata'
