/** Source-path references (facts 1.2): `${map.dir}` and its like, taken from the file that holds the text. */

/** The scalars that may be referred to; every other `${…}` is text. */
const REFERENCES = ['map.dir', 'skills.dir', 'scripts.dir', 'project.todo', 'project.gotchas_doc'] as const

const REFERENCE = /\$\{([a-z_]+\.[a-z_]+)\}/g

const isReference = (name: string): boolean => (REFERENCES as readonly string[]).includes(name)

/** The references that a parsed file gives a value, by name. */
export const readReferences = (document: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> => {
  const values: Record<string, string> = {}
  for (const name of REFERENCES) {
    const [table = '', key = ''] = name.split('.')
    const value = (document[table] as Readonly<Record<string, unknown>> | undefined)?.[key]
    if (typeof value === 'string' && value !== '') values[name] = value
  }
  return values
}

/** Expands a path pattern. One that refers to an unset scalar becomes the empty pattern as a whole, which matches nothing. */
export const expandPattern = (pattern: string, references: Readonly<Record<string, string>>): string => {
  let unset = false
  const expanded = pattern.replace(REFERENCE, (text, name: string) => {
    if (!isReference(name)) return text
    unset ||= references[name] === undefined
    return references[name] ?? ''
  })
  return unset ? '' : expanded
}

/** Expands a text that is no pattern, such as a command; a reference without a value stays as it is, so that it is seen. */
export const expandText = (text: string, references: Readonly<Record<string, string>>): string =>
  text.replace(REFERENCE, (whole, name: string) => (isReference(name) ? (references[name] ?? whole) : whole))
