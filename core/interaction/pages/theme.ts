import { basename, extname } from 'node:path'
import { accentSheet, findAccentFaults, type Accent } from './accent.js'
import { createAsset, type Asset } from './load-assets.js'
import { replaceableViews } from './view-files.js'

/** A link at the foot of each page. */
export interface BrandLink {
  /** The title by language tag. When absent, the link leads to help. */
  readonly title?: Readonly<Record<string, string>> | undefined
  readonly url: string
}

/** The brand that owns the pages. Pictures and stylesheets are given as names of assets. */
export interface Brand {
  readonly name?: string | undefined
  readonly logo?: string | undefined
  readonly logoDark?: string | undefined
  readonly icon?: string | undefined
  /** Stylesheets that follow those of the pages, in this order. */
  readonly sheets: readonly string[]
  readonly links: readonly BrandLink[]
  /** The link to help on the sign-in page, where people look for it. */
  readonly help?: string | undefined
  readonly forgotPassword?: string | undefined
  readonly register?: string | undefined
}

/** The deployment's customisation of the pages. */
export interface Theme {
  readonly brand: Brand
  /** Brands for the pages of a client's requests, by `client_id`. */
  readonly byClient: ReadonlyMap<string, Brand>
  /** The assets that the brands name. */
  readonly assets: ReadonlyMap<string, Asset>
  /** Templates that replace those in `views/`, by name without extension. */
  readonly views: ReadonlyMap<string, string>
}

/** The pages without any customisation. */
export const plainTheme: Theme = {
  brand: { sheets: [], links: [] },
  byClient: new Map(),
  assets: new Map(),
  views: new Map(),
}

interface BrandOptions extends Accent {
  readonly name?: string | undefined
  readonly logo?: string | undefined
  readonly logo_dark?: string | undefined
  readonly support_url?: string | undefined
  readonly links?: { readonly forgot_password?: string | undefined; readonly register?: string | undefined } | undefined
  readonly footer?:
    | readonly (
        | { readonly title?: Record<string, string | undefined> | undefined; readonly url?: string | undefined }
        | undefined
      )[]
    | undefined
}

/** The section `ui` of a configuration. Members may be missing when the file has mistakes. */
export interface ThemeOptions extends BrandOptions {
  readonly favicon?: string | undefined
  readonly stylesheet?: string | undefined
  readonly templates?: string | undefined
  readonly clients?: Readonly<Record<string, BrandOptions | undefined>> | undefined
}

export interface ThemeFault {
  /** The path within the section: `['clients', 'teller', 'logo']`. */
  readonly path: readonly string[]
  readonly message: string
}

const mebibyte = 1_048_576

/** The first bytes of files of each kind, in hexadecimal. */
const beginnings: Readonly<Record<string, string>> = {
  'image/png': '89504e47',
  'image/jpeg': 'ffd8ff',
  'image/webp': '52494646',
  'image/x-icon': '00000100',
}

/** Finds a file that is not the picture it claims to be, because the picture would be missing on every page. */
const findPictureFault = ({ contentType, body }: Asset): string | undefined => {
  const beginning = beginnings[contentType]
  const isSvg = contentType === 'image/svg+xml'
  if (beginning === undefined && !isSvg) return 'must be a picture: .svg, .png, .jpg, .webp or .ico'
  const isRight = isSvg ? /<svg[\s>]/.test(body.toString()) : body.toString('hex', 0, 4).startsWith(beginning ?? '')
  return isRight ? undefined : `is not what its ending says: ${contentType}`
}

/**
 * Finds what a stylesheet would load from elsewhere, because the policy of the pages lets it load only what Signet
 * serves.
 */
const findSheetFault = ({ contentType, body }: Asset): string | undefined => {
  if (!contentType.startsWith('text/css')) return 'must be a stylesheet: .css'
  const text = body.toString('utf8').replaceAll(/\/\*[^]*?\*\//g, '')
  const loads = /@import|url\(\s*["']?(?!#)/i.exec(text)
  return loads
    ? 'loads other files with @import or url(), which the security policy of the pages does not let it'
    : undefined
}

/** Reads files and folders. Each member returns a description when something cannot be read. */
export interface ThemeFiles {
  /** Returns the contents of a file. */
  read(path: string): Buffer | string
  /** Returns the paths of the contents of a folder. */
  list(path: string): readonly string[] | string
}

const linksOf = ({ footer, support_url: url }: BrandOptions): readonly BrandLink[] | undefined => {
  if (footer === undefined && url === undefined) return undefined
  const links = (footer ?? []).flatMap((link) =>
    link?.url === undefined ? [] : [{ title: link.title as BrandLink['title'], url: link.url }],
  )
  return [...(url === undefined ? [] : [{ url }]), ...links]
}

const signInLinksOf = ({ support_url: help, links }: BrandOptions): Partial<Brand> => ({
  ...(help !== undefined && { help }),
  ...(links?.forgot_password !== undefined && { forgotPassword: links.forgot_password }),
  ...(links?.register !== undefined && { register: links.register }),
})

/** Reads the templates of a folder, by name without extension. Calls `fail` for each that is none of ours. */
const readViews = (
  folder: string | undefined,
  { read, list }: ThemeFiles,
  fail: (message: string) => unknown,
): Map<string, string> => {
  const views = new Map<string, string>()
  const listed = folder === undefined ? [] : list(folder)
  if (typeof listed === 'string') fail(listed)
  else
    for (const file of listed) {
      const name = basename(file, '.eta')
      const text = read(file)
      if (extname(file) !== '.eta' || !replaceableViews.includes(name))
        fail(`${basename(file)} is no template of Signet: ${replaceableViews.join(', ')}, each with the ending .eta`)
      else if (typeof text === 'string') fail(text)
      else views.set(name, text.toString())
    }
  return views
}

/** Reads the files that the section names, and finds problems with them and with the colours. */
export const createTheme = (
  ui: ThemeOptions,
  files: ThemeFiles,
): { readonly theme: Theme; readonly faults: readonly ThemeFault[] } => {
  const faults: ThemeFault[] = []
  const assets = new Map<string, Asset>()

  const keep = (name: string, asset: Asset): string => {
    assets.set(name, asset)
    return name
  }

  const open = (
    file: string | undefined,
    path: readonly string[],
    findFault: (asset: Asset) => string | undefined,
  ): string | undefined => {
    if (file === undefined) return undefined
    const fail = (message: string): undefined => void faults.push({ path, message })
    const body = files.read(file)
    if (typeof body === 'string') return fail(body)
    if (body.length > mebibyte) return fail('must have at most 1 MiB')
    const asset = createAsset(file, body)
    const fault = asset === undefined ? 'has an ending that is not known' : findFault(asset)
    if (asset === undefined || fault !== undefined) return fail(fault ?? '')
    // The name contains the version of the content, so that no file replaces another one.
    return keep(`brand-${asset.version}${extname(file).toLowerCase()}`, asset)
  }

  const colours = (options: BrandOptions, path: readonly string[]): readonly string[] => {
    for (const [name, message] of Object.entries(findAccentFaults(options)))
      if (message !== undefined) faults.push({ path: [...path, name], message })
    const text = accentSheet(options)
    const asset = text === undefined ? undefined : createAsset('accent.css', Buffer.from(text))
    return asset === undefined ? [] : [keep(`accent-${asset.version}.css`, asset)]
  }

  const logosOf = (options: BrandOptions, path: readonly string[]): Pick<Brand, 'name' | 'logo' | 'logoDark'> => ({
    name: options.name,
    logo: open(options.logo, [...path, 'logo'], findPictureFault),
    logoDark: open(options.logo_dark, [...path, 'logo_dark'], findPictureFault),
  })

  const named = logosOf(ui, [])
  const accent = colours(ui, [])
  const stylesheet = open(ui.stylesheet, ['stylesheet'], findSheetFault)
  const own = stylesheet === undefined ? [] : [stylesheet]
  const brand: Brand = {
    ...named,
    icon: open(ui.favicon, ['favicon'], findPictureFault) ?? named.logo,
    sheets: [...accent, ...own],
    links: linksOf(ui) ?? [],
    ...signInLinksOf(ui),
  }
  const ofClient = (options: BrandOptions, path: readonly string[]): Brand => {
    const its = logosOf(options, path)
    const colour = colours(options, path)
    return {
      ...brand,
      // The logo of one brand with the name of another would be contradictory.
      ...(its.name !== undefined && { ...its, icon: its.logo ?? brand.icon }),
      ...(colour.length > 0 && { sheets: [...colour, ...own] }),
      links: linksOf(options) ?? brand.links,
      ...signInLinksOf(options),
    }
  }
  const byClient = new Map(
    Object.entries(ui.clients ?? {}).map(([id, options]) => [id, ofClient(options ?? {}, ['clients', id])] as const),
  )
  const views = readViews(ui.templates, files, (message) => faults.push({ path: ['templates'], message }))
  return { theme: { brand, byClient, assets, views }, faults }
}
