import '../keys/table.js'
