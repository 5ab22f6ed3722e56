/**
 * How Node runs what is deployed; the image says the same. What a request or a job leaves behind is
 * garbage within a moment, and with room for more of it at once less is copied while it is in use
 * (docs/performance.md).
 */
export const NODE_OPTIONS = '--max-semi-space-size=32';
