import '../oauth/client-metadata.js'
