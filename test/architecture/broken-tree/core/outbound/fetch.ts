import '../oauth/scope.js'
