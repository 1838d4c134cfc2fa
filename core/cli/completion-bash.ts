import { namesOf, type CompletedCommand } from './completed-command.js'

const words = (list: readonly string[]): string => `'${list.join(' ')}'`

/** Returns the script for Bash. An empty answer makes Bash complete file names. */
export const bashScript = (commands: readonly CompletedCommand[]): string => {
  const paths = commands.map(({ path }) => `'${path}'`).filter((path) => path !== "''")
  const values = commands.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => value !== 'none')
      .map((option) => {
        const patterns = namesOf(option).map((name) => `'${path} ${name}'`)
        const answer =
          typeof option.value === 'string' ? '' : ` COMPREPLY=($(compgen -W ${words(option.value)} -- "$current"));`
        return `    ${patterns.join(' | ')})${answer} return ;;`
      }),
  )
  const offers = commands.map(({ path, commands: inner, options, argument }) => {
    const first = typeof argument === 'string' ? inner.map(({ name }) => name) : argument
    return `    '${path}') offered=${words([...first, ...options.map(({ name }) => name)])} ;;`
  })
  return `# Completion of signet for bash. To try it: source <(signet completion bash)
_signet() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} path='' offered='' word index
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${path:+$path }\${COMP_WORDS[index]}"
    case $word in
    ${paths.join(' | ')}) path=$word ;;
    esac
  done
  case "$path $before" in
${values.join('\n')}
  esac
  case $path in
${offers.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
complete -o default -F _signet signet
`
}
