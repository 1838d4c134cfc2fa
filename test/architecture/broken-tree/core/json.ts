import './oauth/scope.js'
