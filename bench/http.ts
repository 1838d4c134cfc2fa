import { confidential } from './contestant.js'

export const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n`

export const post = (path: string, form: Record<string, string>, headers = '', host = '127.0.0.1'): string => {
  const body = new URLSearchParams(form).toString()
  const type = 'Content-Type: application/x-www-form-urlencoded\r\n'
  return `POST ${path} HTTP/1.1\r\nHost: ${host}\r\n${headers}${type}Content-Length: ${body.length}\r\n\r\n${body}`
}

export const basic = `Authorization: Basic ${Buffer.from(`${confidential.id}:${confidential.secret}`).toString('base64')}\r\n`
