/** A start tag, or the end of a form. */
export interface Tag {
  /** The name in lower case, such as `form` or `/form`. */
  readonly name: string
  /** Attribute values as written in the page, by name in lower case. */
  readonly attributes: ReadonlyMap<string, string>
}

/** Reads the tags of a page that was rendered here, except those in comments. */
export const readTags = (html: string): readonly Tag[] =>
  [...html.replaceAll(/<!--[^]*?-->/g, '').matchAll(/<(\/form|[a-z][\w-]*)((?:[^>"']|"[^"]*"|'[^']*')*)>/gi)].map(
    ([, name = '', inner = '']) => ({
      name: name.toLowerCase(),
      attributes: new Map(
        [...inner.matchAll(/([^\s"'=/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+)))?/g)].map(
          ([, key = '', double, single, bare]) => [key.toLowerCase(), double ?? single ?? bare ?? ''] as const,
        ),
      ),
    }),
  )

const isButton = ({ name, attributes }: Tag): boolean =>
  name === 'button' || (name === 'input' && attributes.get('type') === 'submit')

/** Describes in words what a form sends or what scripts look for. */
const describeControl = (tag: Tag): readonly string[] => {
  const { name, attributes } = tag
  const [field, id, value] = ['name', 'id', 'value'].map((key) => attributes.get(key))
  if (isButton(tag))
    return [
      ...(id === undefined ? [] : [`the button #${id}`]),
      ...(field === undefined ? [] : [`a button that sends ${field}=${value ?? ''}`]),
    ]
  if (field === undefined || !['input', 'select', 'textarea'].includes(name)) return []
  return attributes.get('type') === 'hidden' ? [`the hidden field ${field}=${value ?? ''}`] : [`the field ${field}`]
}

export interface Form {
  /** The method and the path, such as `post /form`. */
  readonly target: string
  readonly controls: ReadonlySet<string>
}

/** Returns the forms of a page. */
export const readForms = (tags: readonly Tag[]): readonly Form[] => {
  const forms: { target: string; controls: Set<string> }[] = []
  let isOpen = false
  for (const tag of tags) {
    if (tag.name === 'form') {
      const method = tag.attributes.get('method')?.toLowerCase() ?? 'get'
      forms.push({ target: `${method} ${tag.attributes.get('action') ?? ''}`, controls: new Set() })
      isOpen = true
    } else if (tag.name === '/form') isOpen = false
    else if (isOpen) for (const control of describeControl(tag)) forms.at(-1)?.controls.add(control)
  }
  return forms
}
