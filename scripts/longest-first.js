import { BaseSequencer } from 'vitest/node';

/** @import { TestSpecification } from 'vitest/node' */

/**
 * Has the tests that take longest, of whole processes and outages that are waited out, begin first: one that
 * begins last keeps one worker while the others have nothing left.
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
const isLong = ({ moduleId }) =>
  /\.e2e\.test|\/(outages|idle|silent-\w+|deliverer|apply-worker)\.integration|receiver\/src\/spool/.test(
    moduleId,
  );
