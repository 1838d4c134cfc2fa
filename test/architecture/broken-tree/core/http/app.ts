import '../oauth/grant.js'
