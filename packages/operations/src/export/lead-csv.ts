import {
  ADDRESS_FIELDS,
  LEAD_FIELDS,
  UTM_FIELDS,
  type CustomField,
  type CustomValue,
} from '@leadgate/contract';
import type { LeadSummary } from '@leadgate/store';
import { stringify } from 'csv-stringify/sync';

/**
 * Leads as CSV with a head (RFC 4180), page by page: UTF-8 with a byte order mark, which Excel asks
 * for. A cell that a spreadsheet would take for a formula has an apostrophe before it (OWASP, CSV
 * injection). Columns are named so that the file can be imported.
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
  for await (const page of pages) yield page.map((lead) => `${JSON.stringify(lead)}\n`).join('');
}

const OWN = [
  'leadId',
  'workspace',
  'createdAt',
  'updatedAt',
  ...LEAD_FIELDS,
  ...ADDRESS_FIELDS.map((field) => `address.${field}`),
  ...UTM_FIELDS,
];

function cellsOf(lead: LeadSummary, custom: readonly string[]): string[] {
  return [
    lead.leadId,
    lead.workspace,
    lead.createdAt,
    lead.updatedAt,
    ...LEAD_FIELDS.map((field) => lead[field]),
    ...ADDRESS_FIELDS.map((field) => lead.address?.[field]),
    ...UTM_FIELDS.map((field) => lead[field]),
    ...custom.map((name) =>
      Object.hasOwn(lead.customFields, name) ? textOf(lead.customFields[name]) : undefined,
    ),
  ].map((cell) => neutral(cell ?? ''));
}

function textOf(value: CustomValue | undefined): string {
  return Array.isArray(value) ? value.join('; ') : String(value ?? '');
}

// The full-width signs too, which some spreadsheets take for the plain ones.
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

function neutral(cell: string): string {
  return FORMULA.test(cell) ? `'${cell}` : cell;
}

function lines(rows: string[][]): string {
  return stringify(rows, { record_delimiter: 'windows' });
}
