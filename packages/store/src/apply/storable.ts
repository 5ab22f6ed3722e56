import type { Submission } from '@leadgate/contract';
import { storableTexts } from '../storable-text.ts';

/** The submission with texts that Postgres can hold, and with ids as Postgres gives them back. */
export function storable(submission: Submission): Submission {
  const clean = storableTexts(submission);
  const { answeredLeadId } = clean;
  return {
    ...clean,
    id: clean.id.toLowerCase(),
    workspaceId: clean.workspaceId.toLowerCase(),
    linkId: clean.linkId.toLowerCase(),
    leadId: clean.leadId.toLowerCase(),
    ...(answeredLeadId !== undefined && { answeredLeadId: answeredLeadId.toLowerCase() }),
    identities: clean.identities.map(({ key, owner }) => ({
      key,
      owner: owner === null ? null : owner.toLowerCase(),
    })),
  };
}
