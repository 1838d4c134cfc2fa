import '../../core/unavailable.js'
