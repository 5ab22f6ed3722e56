// Packages run from src/: `source` stands first in their exports. No `module`: Node itself would go by it, too, and
// not every package's is one that Node can load.
const conditions = ['source', 'node'];

/** What every configuration of vitest here has in common. */
export const fromSources = {
  resolve: { conditions },
  // Where vitest loads the global setup.
  environments: { __vitest__: { resolve: { conditions } } },
  ssr: { resolve: { conditions, externalConditions: conditions } },
};
