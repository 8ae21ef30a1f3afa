import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

const syntax = (selector, message) => ({ selector, message });

/** ES2021 and what Node 16 lacks; the compiler's libraries promise some of these. */
const MISSING_IN_OLD_RUNTIMES = [
  syntax(
    "MemberExpression[object.name='Object'][property.name='hasOwn']",
    'Missing in ES2021: use Object.prototype.hasOwnProperty.call.',
  ),
  syntax(
    "MemberExpression[object.name='Object'][property.name='groupBy']",
    'Missing before Node 21.',
  ),
  syntax(
    "MemberExpression[object.name='AbortSignal'][property.name=/^(any|timeout)$/]",
    'Missing in Node 16: combine with addEventListener and a timer.',
  ),
  syntax(
    "MemberExpression[object.name='Promise'][property.name='withResolvers']",
    'Missing before Node 22.',
  ),
  syntax(
    "MemberExpression[object.name='URL'][property.name='canParse']",
    'Missing before Node 19.9.',
  ),
  syntax(
    "MemberExpression[object.name='Array'][property.name='fromAsync']",
    'Missing before Node 22.',
  ),
  syntax(
    'CallExpression > MemberExpression.callee[property.name=/^(at|findLast|findLastIndex|toSorted|toReversed|toSpliced|isWellFormed|toWellFormed)$/]',
    'Missing in ES2021.',
  ),
];

const GLOBALS_OF_NODE = [
  'process',
  'Buffer',
  'global',
  'require',
  'module',
  '__dirname',
  '__filename',
  'setImmediate',
  'clearImmediate',
];

const PRONOUNS = ['who', 'whoever', 'whom', 'nobody', 'somebody', 'anybody', 'everybody'];
const METAPHORS = [
  'desk',
  'tally',
  'dead',
  'passage',
  'believable',
  'survey',
  'adopt',
  'adopted',
  'book',
  'shelf',
];
const BANNED_WORDS = [...PRONOUNS, ...METAPHORS, 'todo', 'fixme'];

export default defineConfig(
  {
    ignores: [
      '**/dist',
      'docs/api',
      'docs/site/pages',
      'docs/site/.vitepress/cache',
      'coverage',
      'node_modules',
      'python',
      'adapters/sandbox/venue',
      'test/fixtures/stub',
      'test/package/consumer',
      'test/package/platforms',
    ],
  },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      // An aborted signal's reason is the caller's, whatever it is.
      '@typescript-eslint/only-throw-error': [
        'error',
        { allowThrowingAny: true, allowThrowingUnknown: true },
      ],
      '@typescript-eslint/prefer-promise-reject-errors': [
        'error',
        { allowThrowingAny: true, allowThrowingUnknown: true },
      ],
      // Numbers and bigints read well in messages.
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: false },
      ],
      // `if (done) return response.end();` and `() => list.push(x)` say what they mean.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-meaningless-void-operator': 'off',
      // Ports are asynchronous also where one implementation of them need not wait.
      '@typescript-eslint/require-await': 'off',
      // Ports are objects of closures, made to be taken apart.
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { ignoreRestSiblings: true, argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
      ],
      // The words of DESIGN and of CONTRIBUTING's glossary: an actor has a name, and the field's
      // noun comes before a metaphor.
      'no-warning-comments': ['error', { terms: BANNED_WORDS, location: 'anywhere' }],
      eqeqeq: 'error',
      'no-console': 'error',
    },
  },
  {
    files: ['src/**', 'adapters/**'],
    rules: { 'max-lines': ['error', 300] },
  },
  {
    // Of a host that speaks MCP of 2025 there is no other way to its capabilities.
    files: ['adapters/cli/mcp/**'],
    rules: {
      '@typescript-eslint/no-deprecated': [
        'error',
        {
          allow: [
            {
              from: 'package',
              name: 'getClientCapabilities',
              package: '@modelcontextprotocol/server',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['src/**'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      'no-restricted-globals': ['error', 'structuredClone', ...GLOBALS_OF_NODE],
      'no-restricted-syntax': ['error', ...MISSING_IN_OLD_RUNTIMES],
    },
  },
  {
    files: ['test/**', 'bench/**', 'examples/**', 'scripts/**'],
    rules: {
      // Files share a process, in which the module may have been loaded before: the test would run
      // without its mock.
      'no-restricted-properties': [
        'error',
        { object: 'vi', property: 'mock', message: 'Spy on what the module exports.' },
      ],
      // A test may lean on what it has just set up.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // `expect.any()` and its like are `any` on purpose, and so is what a parser gives.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      // Keys and addresses are spread into letters, and inputs of fetch are put in messages.
      '@typescript-eslint/no-misused-spread': 'off',
      '@typescript-eslint/no-base-to-string': 'off',
      'no-control-regex': 'off',
    },
  },
  { files: ['bench/**', 'examples/**', 'scripts/**'], rules: { 'no-console': 'off' } },
  { files: ['test/package/next/**'], languageOptions: { globals: { Response: 'readonly' } } },
  { files: ['**/*.js', '**/*.mjs', '**/*.cjs'], extends: [tseslint.configs.disableTypeChecked] },
);
