import { BaseSequencer } from 'vitest/node';

/** @import { TestSpecification } from 'vitest/node' */

/**
 * Has the tests of whole processes, which take longest, begin first: one that begins last keeps one
 * worker busy while the others have nothing left.
 */
export class LongestFirst extends BaseSequencer {
  /**
   * @override
   * @param {TestSpecification[]} files
   */
  async sort(files) {
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/** @param {TestSpecification} file */
const isLong = ({ moduleId }) => /\/(e2e|scripts)\/[^/]+\.e2e\.test\.\w+$/.test(moduleId);
