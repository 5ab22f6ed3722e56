import { knownOfPerson, listReads } from '@leadgate/store';
import { Type } from 'typebox';
import { operation, Refusal } from './operation.ts';
import { At, open, Uuid } from './schema.ts';

/** What each part of an export says, for the person who reads it. */
const MEANING = {
  lead: 'What the service holds of the person: values, campaign marks (first and last touch), what they are known by (identities), the submission that set each value (provenance), ids that stand for the lead (aliases), leads that may be the same person, and every consent.',
  submissions:
    'Each post or imported row, as it was sent (body), as it was read (lead), when (at), from which page, browser and network address, and what was done to its values (notes).',
  refused:
    'Bodies that name the person and were refused as they were wrong, and as they were mended.',
  held: 'Posts that name the person and were held back as spam.',
  discarded: 'Posts that could not be stored and were given up by an operator, with the reason.',
  failed: 'Posts that could not be stored yet.',
  reads: 'When their data was read here, by which kind of access, and how.',
  sentTo: 'Other systems that were sent the lead, and when they took it last.',
};

const Parts = Type.Array(open({}));

const MOST_READS = 1_000;

export const exportPerson = operation({
  name: 'lead.person',
  id: 'exportPerson',
  method: 'GET',
  path: '/leads/:leadId/person',
  summary: 'Export all that is known of a person, with the meaning of each part',
  description:
    'For a person who asks what is known of them. What was posted just now and still waits in the queue is not in it.',
  role: 'operator',
  recorded: true,
  personal: 'whole',
  input: Type.Object({ leadId: Uuid }),
  output: Type.Object({
    exportedAt: At,
    meaning: Type.Object(
      Object.fromEntries(Object.keys(MEANING).map((part) => [part, Type.String()])),
    ),
    lead: open({ leadId: Uuid }),
    submissions: Parts,
    refused: Parts,
    held: Parts,
    discarded: Parts,
    failed: Parts,
    sentTo: Parts,
    reads: Parts,
  }),
  run: async ({ leadId }, { store, redis }) => {
    const known = await knownOfPerson(store, leadId);
    if (known === null) return new Refusal('not-found', `No lead has the id ${leadId}.`);
    const { isTheirs, ...parts } = known;
    const { failedSubmissions } = await import('@leadgate/queue');
    const failed = await failedSubmissions(
      await redis(),
      (sent) => sent.workspaceId === parts.lead.workspaceId && isTheirs(sent),
    );
    const reads = (await listReads(store, { leadId, limit: MOST_READS })).map(
      ({ at, action, actor: { kind } }) => ({ at, action, by: kind }),
    );
    return { exportedAt: new Date(), meaning: MEANING, ...parts, failed, reads };
  },
});
