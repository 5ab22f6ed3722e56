import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import hooks from 'eslint-plugin-react-hooks';
import regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';

/** Where the environment may be read: at a process's edge, and in what runs around processes. */
const ENVIRONMENT_READERS = [
  'apps/*/src/{main,bin}.ts',
  'scripts/**/*.js',
  'packages/testkit/src/**/*.ts',
  '**/*.test.ts',
  'e2e/**/*.ts',
  'chaos/src/**/*.ts',
  '*.config.{js,ts}',
];

export default defineConfig(
  globalIgnores(['**/dist/', '**/generated/', '.leadgate/', '.turbo/', 'coverage/']),
  js.configs.recommended,
  {
    files: ['**/*.{ts,tsx,js}'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: {
        project: [
          './tsconfig.json',
          './packages/capture/tsconfig.json',
          './apps/web/tsconfig.json',
        ],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': ['error', { allow: ['error'] }],
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'Read it in a main.ts or bin.ts, and pass what it says.',
        },
      ],
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: ['bullmq/*'],
              message:
                'Import bullmq itself: what is within it is another thing in its next release.',
            },
          ],
        },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      // Numbers and dates read well in a template; objects do not.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // Objects here are closures: their methods know no `this`.
      '@typescript-eslint/unbound-method': 'off',
      // What an interface wants async needs no await in every implementation.
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['apps/web/src/**/*.{ts,tsx}'],
    ...hooks.configs.flat.recommended,
  },
  {
    // A text of strangers never costs its length squared: 64 KB of the right letters would take seconds.
    files: ['**/*.{ts,tsx,js}'],
    ignores: ['**/*.test.{ts,js}'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential' }],
    },
  },
  {
    files: ENVIRONMENT_READERS,
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    files: ['{scripts,bench}/**/*.js'],
    rules: {
      // JSON of our own files is typed where it is read, in JSDoc.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
    },
  },
  {
    // Plain JavaScript outside of the type check.
    files: [
      'apps/*/bin/*.js',
      'apps/web/*.js',
      'apps/receiver/demo/*.js',
      'deploy/**/*.js',
      'packages/*/*.js',
      'vitest.browser.config.ts',
    ],
    extends: [tseslint.configs.disableTypeChecked],
  },
  {
    files: ['**/*.js'],
    languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly' } },
    // TypeScript checks names, also in JavaScript.
    rules: { 'no-undef': 'off' },
  },
);
