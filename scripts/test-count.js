/** @import { Reporter, TestCase, TestModule } from 'vitest/node' */

/**
 * The last lines of a test run: each test that failed, or that passed only when it was run again, and
 * `N passed, N failed`, for programs that read it. What fails outside of a test (a file that does not
 * load, a server that is missing) counts as one failed.
 * @implements {Reporter}
 */
export default class TestCount {
  passed = 0;
  failed = 0;
  /** @type {string[]} */
  told = [];

  constructor() {
    // At the very end, behind the other reporters' summaries.
    process.once('exit', (status) => {
      if (status !== 0 && this.failed === 0) this.failed = 1;
      for (const line of this.told) process.stdout.write(`${line}\n`);
      process.stdout.write(`${this.passed.toString()} passed, ${this.failed.toString()} failed\n`);
    });
  }

  /**
   * @param {readonly TestModule[]} modules
   * @param {readonly unknown[]} errors
   */
  onTestRunEnd(modules, errors) {
    this.passed = 0;
    this.failed = errors.length;
    this.told = errors.map((error) => `failed ${firstLine(error)}`);
    for (const module of modules) {
      if (module.state() === 'failed' && module.errors().length > 0) {
        this.failed++;
        this.told.push(`failed ${module.relativeModuleId}: ${firstLine(module.errors()[0])}`);
      }
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') this.passed++;
        if (state === 'failed') this.failed++;
        this.told.push(...told(test));
      }
    }
  }
}

/** @param {TestCase} test */
function told(test) {
  const { state, errors } = test.result();
  const retried = (test.diagnostic()?.retryCount ?? 0) > 0;
  if (state !== 'failed' && !retried) return [];
  const name = `${test.module.relativeModuleId} > ${test.fullName}`;
  return [`${state === 'failed' ? 'failed' : 'retried'} ${name}: ${firstLine(errors?.[0])}`];
}

/** @param {unknown} error */
function firstLine(error) {
  const message = error instanceof Object && 'message' in error ? error.message : error;
  return String(message).split('\n', 1)[0] ?? '';
}
