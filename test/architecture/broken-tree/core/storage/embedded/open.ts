import '../../keys/table.js'
