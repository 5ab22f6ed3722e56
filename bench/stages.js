/** What can be measured, in this order. Each is loaded when it is its turn: packages are built only then. */
export const STAGES = {
  receivers: () => import('./stages/receivers.js'),
  workers: () => import('./stages/workers.js'),
  'end-to-end': () => import('./stages/end-to-end.js'),
  spike: () => import('./stages/spike.js'),
  quiet: () => import('./stages/quiet.js'),
  burst: () => import('./stages/burst.js'),
  import: () => import('./stages/import.js'),
  uploads: () => import('./stages/uploads.js'),
  size: () => import('./stages/size.js'),
  soak: () => import('./stages/soak.js'),
  lts: () => import('./stages/lts.js'),
  spool: () => import('./stages/spool.js'),
  mapping: () => import('./stages/mapping.js'),
  deliveries: () => import('./stages/deliveries.js'),
  series: () => import('./stages/series.js'),
  start: () => import('./stages/start.js'),
  'npm-start': () => import('./stages/npm-start.js'),
};

/** @typedef {keyof typeof STAGES} StageName */
