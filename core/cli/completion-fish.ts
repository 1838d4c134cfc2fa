import type { CompletedCommand, CompletedOption } from './completed-command.js'

const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const at = (path: string): string => `-n ${quote(`__signet_at ${quote(path)}`)}`

const lineOf = (path: string, { name, short, value, description }: CompletedOption): string => {
  const letter = short === undefined ? '' : ` -s ${short.slice(1)}`
  const values = { none: '', file: ' -r -F', any: ' -x' } as const
  const given = typeof value === 'string' ? values[value] : ` -x -a ${quote(value.join(' '))}`
  return `complete -c signet ${at(path)} -l ${name.slice(2)}${letter}${given} -d ${quote(description)}`
}

/** Returns the script for Fish, with a description of each command and option. */
export const fishScript = (commands: readonly CompletedCommand[]): string => {
  const paths = commands.map(({ path }) => path).filter((path) => path !== '')
  const lines = commands.flatMap(({ path, commands: inner, options, argument }) => [
    ...inner.map(
      ({ name, description }) => `complete -c signet ${at(path)} -a ${quote(name)} -d ${quote(description)}`,
    ),
    ...(typeof argument === 'string' ? [] : [`complete -c signet ${at(path)} -a ${quote(argument.join(' '))}`]),
    ...(argument === 'file' ? [`complete -c signet ${at(path)} -F`] : []),
    ...options.map((option) => lineOf(path, option)),
  ])
  return `# Completion of signet for fish. To try it: signet completion fish | source
function __signet_at
    set -l where ''
    for word in (commandline -opc)[2..]
        set -l next (string trim -- "$where $word")
        if contains -- "$next" ${paths.map(quote).join(' ')}
            set where $next
        end
    end
    test "$where" = "$argv[1]"
end
complete -c signet -f
${lines.join('\n')}
`
}
