import './client-metadata.js'
