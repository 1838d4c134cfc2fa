import '../interaction/session.js'
import '../storage/embedded/open.js'
import 'reflect-metadata'
