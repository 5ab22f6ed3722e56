/** BullMQ ships its scripts, and types for another build of them only. */
declare module 'bullmq/dist/cjs/scripts/addStandardJob-9.js' {
  export const addStandardJob: { content: string; keys: number };
}
