import { type CaptureLink, LINK_DEFAULTS } from '@leadgate/contract';

const { label: _, ...RULES } = LINK_DEFAULTS;

/** An open capture link without rules of its own; of the workspace and link of `sampleSubmission`. */
export function sampleLink(change: Partial<CaptureLink> = {}): CaptureLink {
  return {
    linkId: '22222222-2222-4222-8222-222222222222',
    workspaceId: '11111111-1111-4111-8111-111111111111',
    country: 'BR',
    dummyPhones: [],
    state: 'open',
    expiresAt: null,
    ...RULES,
    ...change,
  };
}
