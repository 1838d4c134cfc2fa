import { describeWebApplication } from '../support/recipes/web-application.js'

describeWebApplication('express', ['app.mjs'], 'The application:')
describeWebApplication('fastify', ['app.mjs'], 'The application:')
describeWebApplication('flask', ['app.py'], 'Running on')
