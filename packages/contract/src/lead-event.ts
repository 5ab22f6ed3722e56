/** What is told of leads. */
export const LEAD_EVENTS = ['lead.created', 'lead.updated', 'lead.merged', 'lead.erased'] as const;
export type LeadEventType = (typeof LEAD_EVENTS)[number];

/** What is told of what somebody should look at. */
const ALARM_EVENTS = ['alarm.opened', 'alarm.closed'] as const;

/** What endpoints can ask to be told of. */
export const ENDPOINT_EVENTS = [...LEAD_EVENTS, ...ALARM_EVENTS] as const;
export type EndpointEvent = (typeof ENDPOINT_EVENTS)[number];
