/** @import { Reporter, TestModule } from 'vitest/node' */

/**
 * The last line of a test run, `N passed, N failed`, for programs that read it. What fails outside of
 * a test (a file that does not load, a server that is missing) counts as one failed.
 * @implements {Reporter}
 */
export default class TestCount {
  passed = 0;
  failed = 0;

  constructor() {
    // At the very end, behind the other reporters' summaries.
    process.once('exit', (status) => {
      if (status !== 0 && this.failed === 0) this.failed = 1;
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
    for (const module of modules) {
      if (module.state() === 'failed' && module.errors().length > 0) this.failed++;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') this.passed++;
        if (state === 'failed') this.failed++;
      }
    }
  }
}
