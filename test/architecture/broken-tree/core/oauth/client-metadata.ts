import './client.js'
