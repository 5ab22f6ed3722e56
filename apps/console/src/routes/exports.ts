import { Readable } from 'node:stream';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { UTM_FIELDS } from '@leadgate/contract';
import { leadsAsCsv, leadsAsNdjson } from '@leadgate/operations';
import { exportLeads, listFields } from '@leadgate/store';
import { Type } from 'typebox';
import type { ApiServices } from '../services.ts';
import { idParams, PROBLEM_ANSWERS, Time, Uuid } from './route-schema.ts';

const text = Type.Optional(Type.String());

/** All leads that fit, as a file: for operators only, and on record though it only looks. */
export const exportRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, { store }) => {
  app.get(
    '/workspaces/:workspaceId/leads/export',
    {
      config: { role: 'operator', recorded: true, action: 'lead.export' },
      schema: {
        operationId: 'exportLeads',
        summary: 'Export leads, streamed; cells that a spreadsheet takes for formulas are neutral',
        params: idParams('workspaceId'),
        querystring: Type.Object({
          format: Type.Optional(Type.Union([Type.Literal('csv'), Type.Literal('ndjson')])),
          linkId: Type.Optional(Uuid),
          since: Type.Optional(Time),
          until: Type.Optional(Time),
          utmSource: text,
          utmMedium: text,
          utmCampaign: text,
          utmContent: text,
          utmTerm: text,
        }),
        response: PROBLEM_ANSWERS,
      },
    },
    async ({ params: { workspaceId }, query }, reply) => {
      const { format = 'csv', linkId, since, until } = query;
      const pages = exportLeads(store, {
        workspaceId,
        ...(linkId !== undefined && { linkId }),
        ...(since !== undefined && { since: new Date(since) }),
        ...(until !== undefined && { until: new Date(until) }),
        utm: Object.fromEntries(
          UTM_FIELDS.flatMap((mark) => (query[mark] === undefined ? [] : [[mark, query[mark]]])),
        ),
      });
      const texts =
        format === 'csv'
          ? leadsAsCsv(pages, await listFields(store, workspaceId))
          : leadsAsNdjson(pages);
      return reply
        .type(format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson')
        .header('content-disposition', `attachment; filename="leads.${format}"`)
        .send(Readable.from(texts));
    },
  );
};
