import '../cli/colours.js'
