import { describeWebApplication } from '../support/recipes/web-application.js'

const files = [
  'auth.js',
  'ended.js',
  'app/api/auth/[...nextauth]/route.js',
  'app/layout.js',
  'app/page.js',
  'app/login/route.js',
  'app/denied/route.js',
  'app/me/route.js',
  'app/logout/route.js',
  'app/backchannel-logout/route.js',
]

describeWebApplication('nextjs', files, 'Ready in', { hardLinked: true })
