// The server does not know the time zone of the person, so it writes UTC.
const language = document.documentElement.lang
const own = navigator.languages.find((tag) => tag === language || tag.startsWith(`${language}-`))
const format = new Intl.DateTimeFormat(own === 'en' ? 'en-GB' : (own ?? language), {
  dateStyle: 'long',
  timeStyle: 'short',
})
for (const time of document.querySelectorAll('time[datetime]')) {
  time.title = time.textContent
  time.textContent = format.format(new Date(time.dateTime))
}
