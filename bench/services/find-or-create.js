import { randomUUID } from 'node:crypto';
import { resolveCustomFields } from '@leadgate/leads';
import { v7 as uuidv7 } from 'uuid';

const TEXTS = /** @type {const} */ ([
  'email',
  'name',
  'telephone',
  'document',
  'profession',
  'city',
  'state',
  'instagram',
]);

/** @typedef {import('./http-service.js').ReadLead} ReadLead */
/** @typedef {import('@leadgate/store').Store['prisma']} Prisma */

/**
 * What a developer writes by hand, in one transaction of Prisma: who has one of the keys, else a new
 * lead; its fields, its keys, and the submission. It keeps what Leadgate keeps but provenance, touches
 * and notes, and two requests of one new person at once are two leads.
 * @param {Prisma} prisma
 * @param {ReadLead & { workspaceId: string, linkId: string }} arrival
 * @returns {Promise<string>} the lead's id
 */
export async function findOrCreate(prisma, { lead, identities, body, workspaceId, linkId }) {
  const { birthday, address = {}, customFields = {}, ...texts } = lead;
  const values = {
    ...Object.fromEntries(TEXTS.map((field) => [field, texts[field] ?? null])),
    birthday: birthday === undefined ? null : new Date(birthday),
    address,
  };
  return prisma.$transaction(async (tx) => {
    const known = await tx.identity.findMany({ where: { workspaceId, key: { in: identities } } });
    const owner = identities
      .map((key) => known.find((identity) => identity.key === key)?.leadId)
      .find((id) => id !== undefined);
    const leadId = owner ?? randomUUID();
    if (owner === undefined) {
      const fields = await tx.customField.findMany({ where: { workspaceId } });
      const { values: custom } = resolveCustomFields(
        customFields,
        fields.map((field) => ({
          ...field,
          type: /** @type {import('@leadgate/contract').CustomFieldType} */ (field.type),
          archived: field.archivedAt !== null,
        })),
      );
      await tx.lead.create({ data: { workspaceId, id: leadId, ...values, customFields: custom } });
    } else {
      await tx.lead.update({
        where: { workspaceId_id: { workspaceId, id: leadId } },
        data: { ...values, updatedAt: new Date() },
      });
    }
    const missing = identities.filter((key) => !known.some((identity) => identity.key === key));
    if (missing.length > 0)
      await tx.identity.createMany({
        data: missing.map((key) => ({ workspaceId, key, leadId })),
        skipDuplicates: true,
      });
    const now = BigInt(Date.now()) * 1_000n;
    await tx.submission.create({
      data: {
        ...{ id: uuidv7(), workspaceId, linkId, leadId, order: now, stamp: now, source: 'post' },
        ...{ identities: identities.map((key) => [key, leadId]), lead, body, bodyType: 'json' },
      },
    });
    return leadId;
  });
}
