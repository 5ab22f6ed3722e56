import {
  ADDRESS_FIELDS,
  ATTRIBUTION_FIELDS,
  type CustomField,
  type CustomValue,
  LEAD_FIELDS,
  UTM_FIELDS,
} from '@leadgate/contract';
import type { LeadSummary } from '@leadgate/store';
import { cellOfItems } from './import/columns.ts';
import { csvRecord } from './import/csv.ts';

/**
 * Leads as CSV with a head (RFC 4180), page by page: UTF-8 with a byte order mark, which Excel asks
 * for, every cell in quotes and neutral (`toNeutral`). An import takes it as it was: a telephone stands
 * with its country, and the first columns say that values are written as here.
 */
export async function* leadsAsCsv(
  pages: AsyncIterable<LeadSummary[]>,
  fields: readonly Pick<CustomField, 'name'>[],
): AsyncGenerator<string> {
  const custom = fields.map(({ name }) => name);
  yield `\ufeff${lines([[...OWN, ...custom.map((name) => `customFields.${name}`)]])}`;
  for await (const page of pages) yield lines(page.map((lead) => cellsOf(lead, custom)));
}

/** Leads as JSON, one a line. */
export async function* leadsAsNdjson(pages: AsyncIterable<LeadSummary[]>): AsyncGenerator<string> {
  for await (const page of pages)
    yield page.map((lead) => `${JSON.stringify(withCountry(lead))}\n`).join('');
}

const OWN = [
  'leadId',
  'workspace',
  'createdAt',
  'updatedAt',
  ...LEAD_FIELDS,
  ...ADDRESS_FIELDS.map((field) => `address.${field}`),
  ...UTM_FIELDS,
  ...ATTRIBUTION_FIELDS.map((field) => `attribution.${field}`),
];

function cellsOf(lead: LeadSummary, custom: readonly string[]): string[] {
  return [
    lead.leadId,
    lead.workspace,
    lead.createdAt,
    lead.updatedAt,
    ...LEAD_FIELDS.map((field) => withCountry(lead)[field]),
    ...ADDRESS_FIELDS.map((field) => lead.address?.[field]),
    ...UTM_FIELDS.map((field) => lead[field]),
    ...ATTRIBUTION_FIELDS.map((field) => lead.attribution?.[field]),
    ...custom.map((name) =>
      Object.hasOwn(lead.customFields, name) ? textOf(lead.customFields[name]) : undefined,
    ),
  ].map((cell) => cell ?? '');
}

/** Digits alone would be read as a number of the workspace's country, and join a stranger. */
function withCountry({ telephoneE164, ...lead }: LeadSummary): LeadSummary {
  return telephoneE164 === undefined ? lead : { ...lead, telephone: telephoneE164 };
}

function textOf(value: CustomValue | undefined): string {
  return Array.isArray(value) ? cellOfItems(value) : String(value ?? '');
}

function lines(rows: string[][]): string {
  return rows.map((cells) => csvRecord(cells, ',')).join('');
}
