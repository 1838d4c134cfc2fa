import '../../observe/log.js'
