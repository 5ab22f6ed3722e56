/** BullMQ ships its scripts, and types for another build of them only. */
declare module 'bullmq/dist/cjs/scripts/addStandardJob-9.js' {
  export const addStandardJob: { content: string; keys: number };
}
declare module 'bullmq/dist/cjs/scripts/addPrioritizedJob-9.js' {
  export const addPrioritizedJob: { content: string; keys: number };
}
declare module 'bullmq/dist/cjs/scripts/moveToFinished-14.js' {
  export const moveToFinished: { content: string; keys: number };
}
declare module 'bullmq/dist/cjs/version.js' {
  export const version: string;
}
