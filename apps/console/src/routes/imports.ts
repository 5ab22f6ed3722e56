import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import {
  cellsOf,
  ImportPreview,
  isTimeZone,
  previewImport,
  Refusal,
  type RowFormat,
  startImport,
  Uuid,
} from '@leadgate/operations';
import { recordOutcome } from '@leadgate/store';
import { Type } from 'typebox';
import { PassThrough } from 'node:stream';
import { actorOf } from '../gate.ts';
import { problemOf, ProblemError, PROBLEM_ANSWERS } from '../problem.ts';
import type { ApiServices } from '../services.ts';

const PROGRESS_EVERY_MS = 1_000;

/** Refused rows that are told of; all of them are counted. */
const MOST_REFUSED = 1_000;

const LARGEST_BYTES = 20 * 2 ** 30;
const LARGEST_PREVIEW_BYTES = 256 * 2 ** 20;

const Fault = Type.Object({ pointer: Type.String(), code: Type.String(), detail: Type.String() });

/** A line of the answer has one of these. */
const Line = Type.Object({
  reading: Type.Optional(Type.Object({}, { additionalProperties: true })),
  progress: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  refused: Type.Optional(
    Type.Object({
      row: Type.Integer(),
      errors: Type.Array(Fault),
      cells: Type.Array(Type.String(), { description: 'By column, cut to 200 characters.' }),
    }),
  ),
  result: Type.Optional(
    Type.Object(
      {
        stopped: Type.Boolean(),
        reasons: Type.Array(
          Type.Object({ pointer: Type.String(), code: Type.String(), rows: Type.Integer() }),
        ),
      },
      { additionalProperties: true },
    ),
  ),
  error: Type.Optional(Type.String()),
});

const Format = Type.Unsafe<RowFormat>(Type.Enum(['csv', 'ndjson', 'json']));

const reading = {
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
};

/** Zones and columns as an import takes them. Throws a ProblemError for a zone that is none. */
function readingOf<T extends { timeZone?: string; timeOffset?: number; map?: string }>({
  timeZone,
  timeOffset,
  map,
  ...rest
}: T) {
  if (timeZone !== undefined && !isTimeZone(timeZone)) throw new ProblemError('malformed-request');
  const zone = timeOffset ?? timeZone;
  return {
    ...rest,
    ...(zone !== undefined && { timeZone: zone }),
    ...(map !== undefined && { map: readMap(map) }),
  };
}

/**
 * Takes a file of leads as the body of a request, and tells how far it is as it goes. It is a run, as others
 * see it and stop it; it ends with the connection too, since what is not sent cannot be taken.
 */
export const importRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (
  app,
  { connections, store },
) => {
  await app.register(async (streamed) => {
    // Whatever it is called, its beginning tells what it is.
    streamed.removeAllContentTypeParsers();
    streamed.addContentTypeParser('*', (_request, _body, done) => done(null));

    (streamed as typeof app).post(
      '/imports/preview',
      {
        bodyLimit: LARGEST_PREVIEW_BYTES,
        config: { scope: 'linkId', action: 'import.preview', subject: ['linkId'] },
        schema: {
          operationId: 'previewImport',
          summary: 'Say how a file would be read, with its first rows; takes nothing',
          description:
            'The body is the file, or the beginning of one that is text and not packed: enough for ten rows.',
          querystring: Type.Object({ linkId: Uuid, ...reading }),
          response: { 200: ImportPreview, ...PROBLEM_ANSWERS },
        },
      },
      async (request) => {
        const found = await previewImport(connections, request.raw, readingOf(request.query));
        if (found instanceof Refusal) throw new ProblemError(found.code, problemOf(found));
        return found;
      },
    );

    (streamed as typeof app).post(
      '/imports',
      {
        bodyLimit: LARGEST_BYTES,
        onRequest: (request, _reply, done) => {
          clearTimeout(request.receiveTimer ?? undefined);
          done();
        },
        config: {
          scope: 'linkId',
          action: 'import',
          subject: ['linkId', 'importId', 'dryRun', 'lenient'],
        },
        schema: {
          operationId: 'importLeads',
          summary:
            'Import a file: CSV, JSON lines or a JSON array, plain or gzip, or xlsx, as the body',
          description:
            'Answers JSON lines while it reads: {"reading"} how columns and times are read, before anything is taken; {"progress"} every second, {"refused"} for rows that are not taken, with their cells by column, then {"result"} or {"error"}. The same row twice changes nothing, so an import that was cut off is sent again.',
          querystring: Type.Object({
            linkId: Uuid,
            importId: Type.Optional({
              ...Uuid,
              description:
                'Of the run, chosen by the sender, who may look how far it is while it sends.',
            }),
            ...reading,
            dryRun: Type.Optional(Type.Boolean()),
            perSecond: Type.Optional(Type.Integer({ minimum: 1 })),
          }),
          response: {
            200: { content: { 'application/x-ndjson': { schema: Line } } },
            ...PROBLEM_ANSWERS,
          },
        },
      },
      async (request, reply) => {
        const { importId, ...options } = readingOf(request.query);
        const lines = new PassThrough();
        const tell = (line: object) => lines.write(`${JSON.stringify(line)}\n`);
        let told = 0;
        let refused = 0;
        let columns: readonly string[] = [];
        const started = await startImport(
          connections,
          request.raw,
          {
            ...options,
            ...(importId !== undefined && { id: importId }),
            totalBytes: Number(request.headers['content-length'] ?? Number.NaN) || null,
            keepsRefused: true,
            onStart: ({ columns: found, times, dates, sheet, encoding }) => {
              columns = (found ?? []).map(({ name }) => name);
              tell({ reading: { columns: found, times, dates, sheet, encoding } });
            },
            onRefused: ({ number, errors, ...row }) => {
              refused += 1;
              if (refused > MOST_REFUSED) return;
              tell({ refused: { row: number, errors, cells: cellsOf(row, columns) } });
            },
            onProgress: (progress) => {
              if (Date.now() - told < PROGRESS_EVERY_MS) return;
              told = Date.now();
              tell({ progress });
            },
          },
          { actor: actorOf(request) },
        );
        if (started instanceof Refusal) throw new ProblemError(started.code, problemOf(started));
        reply.raw.once('close', started.stop);
        // It has not ended when its answer begins.
        const { auditId } = request;
        request.auditId = null;
        const end = async (): Promise<void> => {
          const [{ state, problem }, result] = await Promise.all([started.ended, started.result]);
          if (result !== null) tell({ result });
          else if (problem !== null) tell({ error: problem });
          try {
            if (auditId !== null)
              await recordOutcome(store, auditId, state === 'failed' ? 'failed' : 'done');
          } finally {
            lines.end();
            // What is still being sent is not waited for, and is not left in the way of the next request
            // either: an input that could not be read (on) is still listened to.
            request.raw.removeAllListeners('readable').resume();
          }
        };
        end().catch((err: unknown) => request.log.error({ err, auditId }, 'outcome not recorded'));
        return reply.type('application/x-ndjson').send(lines);
      },
    );
  });
};

function readMap(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split(',').map((pair): [string, string] => {
      const at = pair.lastIndexOf('=');
      return at === -1 ? [pair, '-'] : [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
