import { describeWebApplication } from '../support/recipes/web-application.js'

describeWebApplication('go', ['main.go'], 'The application:')
