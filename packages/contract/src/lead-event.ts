/** What endpoints can ask to be told of. */
export const LEAD_EVENTS = ['lead.created', 'lead.updated', 'lead.merged', 'lead.erased'] as const;
export type LeadEventType = (typeof LEAD_EVENTS)[number];
