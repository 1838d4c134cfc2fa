import { parsers, printers } from 'prettier/plugins/markdown'

const { mdast } = printers

/**
 * A plugin of Prettier: a table that is wider than a line is printed without padding, because one long cell would pad every
 * row and change them all with it. Prettier does so by itself where `proseWrap` is `never`, which would also put each
 * paragraph on one line. A printer counts only beside the parser that it prints for.
 */
export default {
  parsers: { markdown: parsers.markdown },
  printers: {
    mdast: {
      ...mdast,
      print: (path, options, print, args) =>
        mdast.print(path, path.node.type === 'table' ? { ...options, proseWrap: 'never' } : options, print, args),
    },
  },
}
