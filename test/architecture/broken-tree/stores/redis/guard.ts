import '../embedded/expiry.js'
