/** Which file names are variants of one another (facts 2.4): `utils2` of `utils`, `service_v2` of `service`. */

const DECORATOR = /[-_. ](?:copy|new|old|final|backup|bak|tmp|temp|orig|original|next|alt|v\d+|\d+)$/
const BARE_DIGIT = /(?<=\p{L})\d$/u

/** The folder (`''` for the root), the stem and the extension, which starts at the last dot unless the name starts there. */
export const splitName = (
  path: string,
): { readonly folder: string; readonly stem: string; readonly extension: string } => {
  const slash = path.lastIndexOf('/')
  const name = path.slice(slash + 1)
  const dot = name.lastIndexOf('.')
  const end = dot > 0 ? dot : name.length
  return { folder: path.slice(0, Math.max(slash, 0)), stem: name.slice(0, end), extension: name.slice(end) }
}

/** The stem without what marks a copy or a version: lower case, trailing decorators and one bare digit after a letter gone. */
export const normalStem = (stem: string): string => {
  for (let text = stem.toLowerCase(); ; ) {
    const shorter = DECORATOR.test(text) ? text.replace(DECORATOR, '') : text.replace(BARE_DIGIT, '')
    if (shorter === text) return text
    text = shorter
  }
}

/** Whether two paths are in one folder, have one extension, and stems that differ only in their marks. */
export const isSimilar = (left: string, right: string): boolean => {
  const a = splitName(left)
  const b = splitName(right)
  if (a.folder !== b.folder || a.extension !== b.extension || a.stem === b.stem) return false
  const normal = normalStem(a.stem)
  return normal !== '' && normal === normalStem(b.stem)
}
