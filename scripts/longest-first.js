import { BaseSequencer } from 'vitest/node';

/** @import { TestSpecification } from 'vitest/node' */

/** Of vitest.config.ts. Files without servers take little each: they fill what the others leave of the last seconds. */
const PROJECTS = ['together', 'alone', 'no servers'];

/**
 * Has the tests that take longest, of whole processes and outages that are waited out, begin first: one that
 * begins last keeps one worker while the others have nothing left. A project's files stay side by side, as a shared
 * process ends when a file of another project is next.
 */
export class LongestFirst extends BaseSequencer {
  /**
   * @override
   * @param {TestSpecification[]} files
   */
  async sort(files) {
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}

/** @param {TestSpecification} file */
const place = (file) => 2 * PROJECTS.indexOf(file.project.name) + (isLong(file) ? 0 : 1);

/** @param {TestSpecification} file */
const isLong = ({ moduleId }) =>
  /\.e2e\.test|\/(outages|idle|silent-\w+|deliverer|hubspot|apply-worker)\.integration|receiver\/src\/spool|health\/checks/.test(
    moduleId,
  );
