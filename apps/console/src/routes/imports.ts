import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import {
  importRows,
  isTimeZone,
  type RowFormat,
  UnreadableInput,
  Nullable,
  Time,
  Uuid,
} from '@leadgate/operations';
import { findWorkspace, linkEntries, listFields, recordOutcome } from '@leadgate/store';
import { Type } from 'typebox';
import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { actorOf } from '../gate.ts';
import { createImportLog, type ImportRun } from '../import-log.ts';
import { ProblemError, PROBLEM_ANSWERS } from '../problem.ts';
import { idParams } from '../validate.ts';
import type { ApiServices } from '../services.ts';

const PROGRESS_EVERY_MS = 1_000;

/** Refused rows that are told of; all of them are counted. */
const MOST_REFUSED = 1_000;

const LARGEST_BYTES = 20 * 2 ** 30;

const Format = Type.Unsafe<RowFormat>(Type.Enum(['csv', 'ndjson', 'json']));

const RunView = Type.Object({
  importId: Uuid,
  linkId: Uuid,
  startedBy: Type.String(),
  startedAt: Time,
  dryRun: Type.Boolean(),
  totalBytes: Nullable(Type.Number({ description: 'Of the file; null where nobody said.' })),
  bytes: Type.Number({ description: 'Read until now.' }),
  rows: Type.Integer(),
  imported: Type.Integer({ description: 'With dryRun: that would be.' }),
  known: Type.Integer({ description: 'Imported before.' }),
  refused: Type.Integer(),
  waiting: Type.Boolean({ description: 'For the queue to empty: live traffic goes first.' }),
  state: Type.String({ description: 'running, done, stopped, refused or failed.' }),
  problem: Nullable(Type.String()),
});

const view = ({ stop: _, report: __, startedAt, progress, ...run }: ImportRun) => ({
  ...run,
  ...progress,
  startedAt: startedAt.toISOString(),
});

/**
 * Takes a file of leads as the body of a request, tells how far it is as it goes, and keeps the rows
 * it refused as a file to be mended. What it tells of are the imports of this process.
 */
export const importRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, services) => {
  const { store } = services;
  const log = createImportLog();

  app.get(
    '/imports',
    {
      schema: {
        operationId: 'listImports',
        summary: 'List the imports that run on this console, and its last ones, newest first',
        response: { 200: Type.Array(RunView), ...PROBLEM_ANSWERS },
      },
    },
    () => log.list().map(view),
  );

  app.get(
    '/imports/:importId',
    {
      schema: {
        operationId: 'showImport',
        summary: 'Show how far an import is',
        params: idParams('importId'),
        response: { 200: RunView, ...PROBLEM_ANSWERS },
      },
    },
    ({ params }) => view(find(params.importId)),
  );

  app.get(
    '/imports/:importId/refused',
    {
      config: { role: 'operator', action: 'import.refused', recorded: true },
      schema: {
        operationId: 'refusedRows',
        summary: 'The rows that were refused, with their reasons: a file to mend and import again',
        description: 'Of the form of what was imported. The first megabyte of them is kept.',
        params: idParams('importId'),
        response: PROBLEM_ANSWERS,
      },
    },
    async ({ params }, reply) => {
      const { name, text } = await find(params.importId).report.file();
      return reply
        .type('text/plain; charset=utf-8')
        .header('content-disposition', `attachment; filename="${name}"`)
        .send(text);
    },
  );

  app.post(
    '/imports/:importId/stop',
    {
      config: { action: 'import.stop' },
      schema: {
        operationId: 'stopImport',
        summary: 'Stop an import between two groups of rows; the same file again goes on',
        params: idParams('importId'),
        response: { 200: RunView, ...PROBLEM_ANSWERS },
      },
    },
    ({ params }) => {
      const run = find(params.importId);
      run.stop();
      return view(run);
    },
  );

  function find(importId: string): ImportRun {
    const run = log.find(importId);
    if (run === null) throw new ProblemError('not-found');
    return run;
  }

  await app.register(async (streamed) => {
    // Whatever it is called, its beginning tells what it is.
    streamed.removeAllContentTypeParsers();
    streamed.addContentTypeParser('*', (_request, _body, done) => done(null));

    (streamed as typeof app).post(
      '/imports',
      {
        bodyLimit: LARGEST_BYTES,
        onRequest: (request, _reply, done) => {
          clearTimeout(request.receiveTimer ?? undefined);
          done();
        },
        config: { action: 'import', subject: ['linkId', 'importId', 'dryRun', 'lenient'] },
        schema: {
          operationId: 'importLeads',
          summary:
            'Import a file: CSV, JSON lines or a JSON array, plain or gzip, or xlsx, as the body',
          description:
            'Answers JSON lines while it reads: {"reading"} how columns and times are read, before anything is taken; {"progress"} every second, {"refused"} for rows that are not taken, then {"result"} or {"error"}. The same row twice changes nothing, so an import that was cut off is sent again.',
          querystring: Type.Object({
            linkId: Uuid,
            importId: Type.Optional({
              ...Uuid,
              description: 'Chosen by the sender, who may look how far it is while it sends.',
            }),
            format: Type.Optional(Format),
            encoding: Type.Optional(Type.String()),
            delimiter: Type.Optional(Type.String({ minLength: 1, maxLength: 1 })),
            sheet: Type.Optional(
              Type.String({ description: 'Of an Excel file; else the first that is not hidden.' }),
            ),
            timeColumn: Type.Optional(Type.String()),
            timeOffset: Type.Optional(
              Type.Integer({
                minimum: -1_080,
                maximum: 1_080,
                description: 'Minutes ahead of UTC of times that do not say it.',
              }),
            ),
            timeZone: Type.Optional(
              Type.String({ description: "The same as an IANA zone; else it is the workspace's." }),
            ),
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
        const {
          linkId,
          importId = randomUUID(),
          map,
          dryRun = false,
          timeZone,
          timeOffset,
          ...options
        } = request.query;
        if (timeZone !== undefined && !isTimeZone(timeZone))
          throw new ProblemError('malformed-request');
        const [entry] = await linkEntries(store, linkId);
        if (entry === undefined) throw new ProblemError('not-found');
        const fields = await listFields(store, entry.link.workspaceId);
        const workspace = await findWorkspace(store, entry.link.workspaceId);
        const run = log.begin({
          importId,
          linkId,
          dryRun,
          startedBy: actorOf(request).name,
          totalBytes: Number(request.headers['content-length'] ?? Number.NaN) || null,
        });
        if (run === null)
          throw new ProblemError('conflict', {
            detail: 'An import of this id was begun already, or as many run as may.',
          });
        const lines = new PassThrough();
        const tell = (line: object) => lines.write(`${JSON.stringify(line)}\n`);
        reply.raw.once('close', run.stop);
        // It has not ended when its answer begins.
        const { auditId } = request;
        request.auditId = null;

        const take = async (): Promise<ImportRun['state']> => {
          let told = 0;
          try {
            const result = await importRows(services, request.raw, {
              ...options,
              dryRun,
              timeZone: timeOffset ?? timeZone ?? workspace?.timeZone ?? 'UTC',
              ...(map !== undefined && { map: readMap(map) }),
              link: entry.link,
              fields,
              signal: run.signal,
              onStart: (start) => {
                run.report.start(start);
                tell({ reading: { columns: start.columns, times: start.times } });
              },
              onRefused: async (row) => {
                await run.report.add(row);
                const { number, errors } = row;
                if (run.progress.refused < MOST_REFUSED) tell({ refused: { row: number, errors } });
              },
              onProgress: (progress) => {
                run.progress = { ...progress };
                if (Date.now() - told < PROGRESS_EVERY_MS) return;
                told = Date.now();
                tell({ progress });
              },
            });
            run.progress = { ...run.progress, ...countsOf(result), waiting: false };
            tell({ result });
            return result.stopped ? 'stopped' : 'done';
          } catch (error) {
            if (run.signal.aborted) return 'stopped';
            run.problem = problemOf(error);
            tell({ error: run.problem });
            if (error instanceof UnreadableInput) return 'refused';
            request.log.error({ err: error, requestId: request.id }, 'import failed');
            return 'failed';
          } finally {
            lines.end();
            // What is still being sent is not waited for.
            request.raw.resume();
          }
        };
        take()
          .then(async (state) => {
            run.state = state;
            if (auditId === null) return;
            await recordOutcome(store, auditId, state === 'stopped' ? 'done' : outcomeOf(state));
          })
          .catch((err: unknown) => request.log.error({ err, auditId }, 'outcome not recorded'));
        return reply.type('application/x-ndjson').send(lines);
      },
    );
  });
};

const countsOf = <T extends Omit<ImportRun['progress'], 'waiting'>>({
  bytes,
  rows,
  imported,
  known,
  refused,
}: T) => ({ bytes, rows, imported, known, refused });

const outcomeOf = (state: ImportRun['state']): 'done' | 'refused' | 'failed' =>
  state === 'refused' || state === 'failed' ? state : 'done';

function problemOf(error: unknown): string {
  return error instanceof UnreadableInput
    ? error.message
    : 'Redis or Postgres did not answer; what was taken stays. Send it again.';
}

function readMap(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split(',').map((pair): [string, string] => {
      const at = pair.lastIndexOf('=');
      return at === -1 ? [pair, '-'] : [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
