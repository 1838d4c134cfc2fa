import './guard.js'
