// Packages run from src/: `source` stands first in their exports.
const conditions = ['source', 'module', 'node'];

/** What every configuration of vitest here has in common. */
export const fromSources = {
  resolve: { conditions },
  // Where vitest loads the global setup.
  environments: { __vitest__: { resolve: { conditions } } },
  ssr: { resolve: { conditions, externalConditions: ['source', 'node'] } },
};
