import '../oauth/client.js'
