import 'tsyringe'
