import { namesOf, type CompletedCommand, type CompletedOption, type Word } from './completed-command.js'

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Formats words for `_describe`, where a colon ends the word. */
const described = (list: readonly Word[]): string =>
  `(${list.map(({ name, description }) => quote(`${name.replaceAll(':', '\\:')}:${description}`)).join(' ')})`

const answerOf = ({ value }: CompletedOption): string => {
  if (typeof value !== 'string') return `compadd -- ${value.map(quote).join(' ')}`
  return value === 'file' ? '_files' : ':'
}

/** Returns the script for Zsh, with a description of each command and option. */
export const zshScript = (commands: readonly CompletedCommand[]): string => {
  const paths = commands.map(({ path }) => path).filter((path) => path !== '')
  const values = commands.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => value !== 'none')
      .map(
        (option) =>
          `    ${namesOf(option)
            .map((name) => quote(`${path} ${name}`))
            .join(' | ')}) ${answerOf(option)}; return ;;`,
      ),
  )
  const offers = commands.map(({ path, commands: inner, options, argument }) => {
    const first = typeof argument === 'string' ? inner : argument.map((name) => ({ name, description: '' }))
    const files = argument === 'file' ? ' takes_files=1' : ''
    return `    ${quote(path)}) words_=${described(first)} options_=${described(options)}${files} ;;`
  })
  return `#compdef signet
# Completion of signet for zsh. To try it: source <(signet completion zsh)
_signet() {
  local where='' word takes_files=0 index
  local -a words_ options_
  for ((index = 2; index < CURRENT; index++)); do
    word="\${where:+$where }\${words[index]}"
    case $word in
    ${paths.map(quote).join(' | ')}) where=$word ;;
    esac
  done
  case "$where \${words[CURRENT - 1]}" in
${values.join('\n')}
  esac
  case $where in
${offers.join('\n')}
  esac
  (( \${#words_} )) && _describe command words_
  (( takes_files )) && _files
  _describe option options_
}
compdef _signet signet
`
}
