/** @import { RolldownOptions } from 'rolldown' */

/**
 * What stays a package of its own: OpenTelemetry hooks into their `require`, they find files or native
 * code beside their own, or they are optional and may not be there.
 */
const PACKAGES = [
  ...['ioredis', 'pg'],
  ...['pino', /^@bull-board\//, /^@node-rs\//],
  ...['pino-pretty', 'pg-native'],
];

/**
 * An app with all that it imports, for `npm run build` in its folder: Node takes longer to find and read a
 * thousand small modules than to start an app. Names stay, as stack traces have them.
 * @type {RolldownOptions}
 */
export default {
  input: 'src/main.ts',
  platform: 'node',
  external: PACKAGES,
  output: { dir: 'dist', format: 'esm', cleanDir: true },
};
