import { PassThrough } from 'node:stream';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { importRows, UnreadableInput, type RowFormat } from '@leadgate/operations';
import { linkEntries, listFields, recordOutcome } from '@leadgate/store';
import { Type } from 'typebox';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { idParams, PROBLEM_ANSWERS } from './route-schema.ts';

const PROGRESS_EVERY_MS = 1_000;

/** Refused rows that are told of; all of them are counted. */
const MOST_REFUSED = 1_000;

const LARGEST_BYTES = 20 * 2 ** 30;

/** Takes a file of leads as the body of a request, and tells how far it is as it goes. */
export const importRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, services) => {
  const { store } = services;
  // Streamed: whatever it is called, its beginning tells what it is.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _body, done) => done(null));

  app.post(
    '/links/:linkId/imports',
    {
      bodyLimit: LARGEST_BYTES,
      config: { action: 'import' },
      schema: {
        operationId: 'importLeads',
        summary: 'Import a file: CSV, JSON lines or a JSON array, plain or gzip, as the body',
        description:
          'Answers JSON lines while it reads: {"progress"} every second, {"refused"} for rows that are not taken, then {"result"} or {"error"}. The same row twice changes nothing, so an import that was cut off is sent again.',
        params: idParams('linkId'),
        querystring: Type.Object({
          format: Type.Optional(Type.Unsafe<RowFormat>(Type.String())),
          encoding: Type.Optional(Type.String()),
          delimiter: Type.Optional(Type.String({ minLength: 1, maxLength: 1 })),
          timeColumn: Type.Optional(Type.String()),
          map: Type.Optional(
            Type.String({ description: 'column=field, separated by commas; - ignores one.' }),
          ),
          lenient: Type.Optional(Type.Boolean()),
          dryRun: Type.Optional(Type.Boolean()),
          perSecond: Type.Optional(Type.Integer({ minimum: 1 })),
        }),
        response: PROBLEM_ANSWERS,
      },
    },
    async (request, reply) => {
      const { map, ...options } = request.query;
      const [entry] = await linkEntries(store, request.params.linkId);
      if (entry === undefined) throw new ProblemError('not-found');
      const fields = await listFields(store, entry.link.workspaceId);
      const stopped = new AbortController();
      const lines = new PassThrough();
      const tell = (line: object) => lines.write(`${JSON.stringify(line)}\n`);
      reply.raw.once('close', () => stopped.abort());
      // It has not ended when its answer begins.
      const { auditId, log } = request;
      request.auditId = null;

      const run = async (): Promise<'done' | 'refused' | 'failed'> => {
        let told = 0;
        let refused = 0;
        try {
          const result = await importRows(services, request.raw, {
            ...options,
            ...(map !== undefined && { map: readMap(map) }),
            link: entry.link,
            fields,
            signal: stopped.signal,
            onRefused: ({ number, errors }) => {
              if (refused++ < MOST_REFUSED) tell({ refused: { row: number, errors } });
            },
            onProgress: (progress) => {
              if (Date.now() - told < PROGRESS_EVERY_MS) return;
              told = Date.now();
              tell({ progress });
            },
          });
          tell({ result });
          return 'done';
        } catch (error) {
          if (error instanceof UnreadableInput) {
            tell({ error: error.message });
            return 'refused';
          }
          log.error({ err: error }, 'import failed');
          tell({ error: 'Redis or Postgres did not answer; what was taken stays. Send it again.' });
          return 'failed';
        } finally {
          lines.end();
        }
      };
      run()
        .then((outcome) => (auditId === null ? undefined : recordOutcome(store, auditId, outcome)))
        .catch((err: unknown) => log.error({ err, auditId }, 'outcome not recorded'));
      return reply.type('application/x-ndjson').send(lines);
    },
  );
};

function readMap(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split(',').map((pair): [string, string] => {
      const at = pair.lastIndexOf('=');
      return at === -1 ? [pair, '-'] : [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
