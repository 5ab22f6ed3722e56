import { accept, signConsenter, withdrawalOf } from '@leadgate/intake';
import { consentLinkOf, type ConsentProof, consentProofs, showLead } from '@leadgate/store';
import { Type } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import { operation, Refusal, refilling, TextFile, type Connections } from './operation.ts';
import { At, momentsOf, Nullable, open, Time, Uuid } from './schema.ts';

const Consent = open(
  {
    submissionId: Uuid,
    action: Type.Union([
      Type.Literal('granted'),
      Type.Literal('refused'),
      Type.Literal('withdrawn'),
    ]),
    at: At,
    text: Type.Optional(Type.String({ description: 'The words as they were shown.' })),
    textVersion: Type.Optional(Type.String()),
    language: Type.Optional(Type.String()),
    page: Nullable(Type.String()),
    address: Nullable(Type.String()),
    userAgent: Nullable(Type.String()),
  },
  'As it was recorded. Of a person who was erased, words about them are given by their SHA-256.',
);

/** What people agreed to. */
export const consent = {
  list: operation({
    name: 'consent.list',
    id: 'listConsents',
    method: 'GET',
    path: '/leads/:leadId/consents',
    summary: 'List what a person granted, refused and withdrew, newest first',
    personal: 'whole',
    // Proof outlives the person's data.
    afterErasure: true,
    input: Type.Object({ leadId: Uuid }),
    output: Type.Array(Consent),
    run: async ({ leadId }, { store }) => {
      const lead = await showLead(store, leadId, { historyLimit: 1 });
      return lead?.consents ?? unknownLead(leadId);
    },
  }),

  export: operation({
    name: 'consent.export',
    id: 'exportConsents',
    method: 'GET',
    path: '/workspaces/:workspaceId/consents/export',
    summary: 'Export the proofs of consent of a workspace as NDJSON, streamed',
    role: 'operator',
    recorded: true,
    input: Type.Object({
      workspaceId: Uuid,
      since: Type.Optional(Time),
      until: Type.Optional(Time),
    }),
    output: null,
    run: ({ workspaceId, ...times }, { store }) => {
      let rows = 0;
      const proofs = consentProofs(store, workspaceId, momentsOf(times));
      const texts = (async function* () {
        for await (const page of proofs) {
          rows += page.length;
          yield page.map((proof: ConsentProof) => `${JSON.stringify(proof)}\n`).join('');
        }
      })();
      return new TextFile('consents.ndjson', 'application/x-ndjson', texts, () => rows);
    },
  }),

  withdraw: operation({
    name: 'consent.withdraw',
    id: 'withdrawConsent',
    method: 'POST',
    path: '/leads/:leadId/withdrawals',
    summary: 'Withdraw a consent for a person who asked for it',
    description:
      'It is recorded beside what was granted, which stays as proof, once the worker comes to it. The person can do the same by a link: see consent-link.',
    status: 202,
    input: Type.Object({
      leadId: Uuid,
      text: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 1_000,
          description: 'How they asked: it stays with the withdrawal.',
        }),
      ),
    }),
    output: Type.Object({ leadId: Uuid, submissionId: Uuid }),
    run: async ({ leadId, text }, connections, { requestId }) => {
      const consenter = await findConsenter(connections, leadId);
      if (consenter instanceof Refusal) return consenter;
      const acceptance = await accept(
        await connections.intake(),
        withdrawalOf(consenter, {
          submissionId: uuidv7(),
          ...(text !== undefined && { text }),
          ...(requestId !== null && { requestId }),
        }),
      );
      // Without limit and key there is no other answer.
      if (acceptance.kind !== 'accepted') return refilling();
      return { leadId: consenter.leadId, submissionId: acceptance.submissionId };
    },
  }),

  link: operation({
    name: 'consent.link',
    id: 'showConsentLink',
    method: 'GET',
    path: '/leads/:leadId/consent-link',
    summary: 'Show the link by which a person withdraws their consent',
    description:
      'For mails to them: a page in Portuguese, English or Spanish with one button, and an address for List-Unsubscribe (RFC 8058). It does not expire, and says nothing about the person.',
    role: 'operator',
    input: Type.Object({ leadId: Uuid }),
    output: Type.Object({ leadId: Uuid, url: Type.String() }),
    run: async ({ leadId }, connections) => {
      const { consentKey, receiverUrl } = connections;
      if (consentKey === null || receiverUrl === null)
        return new Refusal(
          'unavailable',
          'There are no such links before CONSENT_KEY is set, for receivers too, and RECEIVER_URL says where they are.',
        );
      const consenter = await findConsenter(connections, leadId);
      if (consenter instanceof Refusal) return consenter;
      const url = `${receiverUrl}/consent/${signConsenter(consentKey, consenter)}`;
      return { leadId: consenter.leadId, url };
    },
  }),
};

const unknownLead = (id: string): Refusal =>
  new Refusal(
    'not-found',
    `No lead has the id ${id}; if it was answered just now its job may still wait.`,
  );

/** The lead of an id, and a link that it came by. */
async function findConsenter({ store }: Connections, anyId: string) {
  const lead = await showLead(store, anyId, { historyLimit: 1 });
  if (lead === null) return unknownLead(anyId);
  const { workspaceId, leadId } = lead;
  const linkId = await consentLinkOf(store, { workspaceId, id: leadId });
  if (linkId === null)
    return new Refusal('conflict', `Nothing that lead ${leadId} ever sent is kept any more.`);
  return { workspaceId, leadId, linkId };
}
