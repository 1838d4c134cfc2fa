import js from '@eslint/js'
import { defineConfig } from 'eslint/config'
import globals from 'globals'
import tseslint from 'typescript-eslint'

const maxLines = ['error', { max: 300, skipBlankLines: false, skipComments: false }]

export default defineConfig(
  {
    ignores: ['dist/', '**/node_modules/', 'coverage/', '**/data/', 'examples/storage-adapter/files.js'],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    rules: {
      'max-lines': maxLines,
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'error',
      'no-param-reassign': 'error',
      'no-template-curly-in-string': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',
      'prefer-template': 'error',
    },
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      '@typescript-eslint/naming-convention': [
        'error',
        { selector: 'interface', format: ['PascalCase'], custom: { regex: '^I[A-Z]', match: false } },
        {
          selector: ['interface', 'class', 'typeAlias'],
          format: ['PascalCase'],
          custom: { regex: '(Impl|Manager|Helper|Util)s?$', match: false },
        },
      ],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/no-unnecessary-condition': 'error',
      // Unused parameters are the compiler's matter (noUnusedParameters).
      '@typescript-eslint/no-unused-vars': ['error', { args: 'none' }],
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/prefer-readonly': 'error',
      // Ports are asynchronous; an adapter that has nothing to wait for is still one.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      // Our ports are made of closures, and their members may be taken apart.
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    },
  },
  {
    files: ['{test,bench}/**/*.ts'],
    rules: {
      'no-console': 'off',
      // A test says what it expects to be there, and fails where it is not.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unnecessary-condition': 'off',
      '@typescript-eslint/restrict-template-expressions': 'off',
      // JSON from a server is `any` until it is compared, which is what a test does with it.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
    },
  },
  {
    files: ['core/{console,interaction,demo}/assets/**/*.js'],
    languageOptions: { sourceType: 'module', globals: globals.browser },
  },
  {
    files: [
      '*.config.js',
      '.ci/*.js',
      'bin/*.js',
      '**/*.cjs',
      'deploy/*.js',
      '{test,bench}/**/*.js',
      'examples/**/*.js',
    ],
    languageOptions: { globals: { ...globals.node, ...globals.commonjs } },
    rules: { 'no-console': 'off' },
  },
  {
    // Each of its files breaks a boundary, for nothing but the test of the boundaries.
    files: ['test/architecture/broken-tree/**'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: { parserOptions: { projectService: false } },
  },
)
