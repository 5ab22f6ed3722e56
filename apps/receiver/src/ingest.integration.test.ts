import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CaptureLink, LinkMapping } from '@leadgate/contract';
import { openSpool } from '@leadgate/intake';
import { startRedisServer, startSilentProxy } from '@leadgate/testkit';
import {
  closeAll,
  CODE,
  connectTo,
  emptyRedis,
  LINK,
  NOW,
  openApp,
  refill,
  type AppOptions,
} from '../test/receiver.ts';

afterEach(closeAll);

const ANA = { email: 'ana@example.com' };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const UUID_V4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;
const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

const SILENT = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };

const manyLetters = (letters: number) => JSON.stringify({ name: 'x'.repeat(letters) });

describe('an accepted lead', () => {
  test('is answered with its id and nothing that tells whether it was known', async () => {
    const receiver = await openApp();
    const answer = await receiver.post(ANA);
    expect(answer.statusCode).toBe(202);
    expect(answer.json()).toEqual({ leadId: receiver.submission().leadId });
    expect(receiver.submission().leadId).toMatch(UUID_V4);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers['submission-id']).toBe(receiver.submission().id);
    expect(receiver.submission().id).toMatch(UUID_V7);
    expect(receiver.answers).toEqual(['accepted']);
  });

  const deep = (depth: number) => `${'{"b":'.repeat(depth)}1${'}'.repeat(depth)}`;
  test.each([
    `{"email":"ana@example.com","a":${deep(3_000)}}`,
    `{"email":"ana@example.com","a":${deep(9_000)}}`,
    `{"email":"ana@example.com","a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
    `{"email":"ana@example.com","customFields":{"a":${deep(9_000)}},"c":"${'x'.repeat(9_000)}"}`,
    `{"email":"ana@example.com","address":{"city":"Recife","a":${deep(9_000)}}}`,
    `{"email":"ana@example.com","customFields[a]":${deep(9_000)}}`,
  ])('is one whatever is nested in it, deeper than a stack goes too: %.40s', async (body) => {
    const receiver = await openApp();
    const answer = await receiver.post(body, { headers: { 'content-type': 'application/json' } });
    expect(answer.statusCode).toBe(202);
    expect(receiver.submission().lead.email).toBe('ana@example.com');
  });

  test('is answered with the id that the reservation says, not the one it was offered', async () => {
    const receiver = await openApp();
    const { leadId } = (await receiver.post(ANA)).json<{ leadId: string }>();
    expect((await receiver.post(ANA)).json()).toEqual({ leadId });
    const [first, second] = receiver.enqueued;
    expect(receiver.reserved[1]?.offeredLeadId).not.toBe(leadId);
    expect(second).toMatchObject({ leadId, stamp: second?.order });
    expect(second?.order).toBeGreaterThan(first?.order ?? Infinity);
  });

  test('is enqueued before it is answered', async () => {
    let enqueue = (): void => undefined;
    const receiver = await openApp({
      beforeEnqueue: () => new Promise((resolve) => (enqueue = resolve)),
    });
    let answered = false;
    const answer = receiver.post(ANA).then((response) => {
      answered = true;
      return response;
    });
    await expect.poll(() => receiver.reserved.length).toBe(1);
    expect(answered).toBe(false);
    enqueue();
    expect((await answer).statusCode).toBe(202);
  });

  test('carries its body as sent, its notes and its sender', async () => {
    const receiver = await openApp();
    const body = '{ "email": "Ana@Example.com", "shoe": 38 }';
    await receiver.post(body, {
      headers: {
        origin: 'https://shop.example.com',
        referer: 'https://shop.example.com/sale?utm=1',
        'user-agent': 'Browser/1',
      },
      remoteAddress: '203.0.113.7',
    });
    expect(receiver.submission()).toMatchObject({
      workspaceId: LINK.workspaceId,
      linkId: LINK.linkId,
      lead: { email: 'ana@example.com' },
      identities: [{ key: 'email:ana@example.com', owner: receiver.submission().leadId }],
      notes: [{ field: '/shoe', code: 'unknown-key' }],
      source: 'post',
      body,
      bodyType: 'json',
      page: 'https://shop.example.com/sale?utm=1',
      userAgent: 'Browser/1',
      address: '203.0.113.7',
    });
  });

  test('keeps no more of its sender than it should', async () => {
    const receiver = await openApp({
      services: {
        config: { RATE_LIMIT_LINK: 1, RATE_LIMIT_ADDRESS: 1, KEEP_ADDRESS: 'truncated' },
      },
    });
    await receiver.post(ANA, {
      headers: {
        referer: `https://example.com/${'p'.repeat(3_000)}`,
        'user-agent': `\u0001${'u'.repeat(1_000)}`,
      },
      remoteAddress: '203.0.113.7',
    });
    const { page, userAgent, address } = receiver.submission();
    expect(page).toHaveLength(2_048);
    expect(userAgent).toBe('u'.repeat(512));
    expect(address).toBe('203.0.113.0');
  });

  test.each([['{}'], ['{"email":null,"name":"","city":"  "}']])(
    'may be as empty as %s',
    async (body) => {
      const receiver = await openApp();
      expect((await receiver.post(body)).statusCode).toBe(202);
      expect(receiver.submission().lead).toEqual({});
    },
  );

  test('of a beacon is JSON under text/plain', async () => {
    const receiver = await openApp();
    const answer = await receiver.post('{"email":"b@example.com"}', {
      headers: { 'content-type': 'text/plain;charset=UTF-8' },
    });
    expect(answer.statusCode).toBe(202);
    expect(receiver.submission()).toMatchObject({
      bodyType: 'json',
      lead: { email: 'b@example.com' },
    });
  });

  test('of a plain form is a lead with plus-tags and fields of fields', async () => {
    const receiver = await openApp();
    const body =
      'email=ana%2Bx%40example.com&address%5Bcity%5D=Recife&customFields[plan]=gold&name=';
    expect((await receiver.post(body, { headers: FORM })).statusCode).toBe(202);
    expect(receiver.submission()).toMatchObject({
      body,
      bodyType: 'form',
      lead: {
        email: 'ana+x@example.com',
        address: { city: 'Recife' },
        customFields: { plan: 'gold' },
      },
    });
  });

  test('of a fetch with FormData is the form it is, without its files', async () => {
    const receiver = await openApp();
    const form = new FormData();
    form.set('name', 'José');
    form.set('email', 'ana@example.com');
    form.set('customFields[plano]', 'ouro');
    form.set('cv', new Blob(['x'.repeat(200_000)]), 'cv.pdf');
    const request = new Request('http://x/', { method: 'POST', body: form });
    const answer = await receiver.post(Buffer.from(await request.arrayBuffer()), {
      headers: { 'content-type': request.headers.get('content-type') ?? '' },
    });
    expect(answer.statusCode).toBe(202);
    expect(receiver.submission()).toMatchObject({
      body: 'name=Jos%C3%A9&email=ana%40example.com&customFields%5Bplano%5D=ouro',
      bodyType: 'form',
      lead: { name: 'José', email: 'ana@example.com', customFields: { plano: 'ouro' } },
      notes: [{ field: '/cv', code: 'file-dropped' }],
    });
  });

  test.each([
    ['application/json', ['not-utf-8']],
    ['application/json; charset=iso-8859-1', []],
  ])('of a system that writes latin-1 keeps its accents (%s)', async (type, notes) => {
    const receiver = await openApp();
    const body = Buffer.from('{"name":"José"}', 'latin1');
    expect((await receiver.post(body, { headers: { 'content-type': type } })).statusCode).toBe(202);
    expect(receiver.submission()).toMatchObject({
      lead: { name: 'José' },
      body: '{"name":"José"}',
    });
    expect(receiver.submission().notes.map(({ code }) => code)).toEqual(notes);
  });

  test.each(['{"email":"ana@example.com"}', 'email=ana%40example.com'])(
    'of a beacon without a type is read by how it looks: %s',
    async (body) => {
      const receiver = await openApp();
      const url = `/ingest/${CODE}`;
      const answer = await receiver.app.inject({ method: 'POST', url, body: Buffer.from(body) });
      expect(answer.statusCode).toBe(202);
      expect(receiver.submission().lead).toEqual(ANA);
    },
  );

  test('of a sender with names of its own is read by the mapping of its link, and kept as sent', async () => {
    const mapping = {
      preset: null,
      rules: { email: ['$.contact.mail'], 'customFields.plano': ['$.plan'] },
    };
    const receiver = await openApp({ link: { mapping, requireIdentity: true } });
    const body = '{"contact":{"mail":"Ana@Example.com"},"plan":"ouro","_idempotencyKey":"k-1"}';
    expect((await receiver.post(body)).statusCode).toBe(202);
    expect((await receiver.post('{"contact":{"mail":"nobody"}}')).json()).toMatchObject({
      errors: [{ pointer: '/email' }],
    });
    expect(receiver.reserved[0]?.idempotency?.key).toBe('k-1');
    expect(receiver.submission()).toMatchObject({
      lead: { email: 'ana@example.com', customFields: { plano: 'ouro' } },
      body,
      notes: [],
    });
  });

  const ROWS: LinkMapping = { preset: null, rules: { email: ['$.mail'] }, rows: '$.people' };
  const people = (...mails: string[]) => ({ people: mails.map((mail) => ({ mail, plan: 1 })) });

  test('that is a list is a submission a row, and what is wrong with one keeps no other', async () => {
    const receiver = await openApp({ link: { mapping: ROWS } });
    const answer = await receiver.post(people('a@x.io', 'no', 'b@x.io', 'a@x.io'));
    expect(answer.statusCode).toBe(202);
    const [a, b, again] = receiver.enqueued;
    expect([a, b, again].map((row) => row?.lead)).toEqual([
      { email: 'a@x.io' },
      { email: 'b@x.io' },
      { email: 'a@x.io' },
    ]);
    expect(answer.json()).toEqual({
      leadId: a?.leadId,
      leads: [
        { leadId: a?.leadId, submissionId: a?.id },
        { code: 'invalid-lead', errors: [expect.objectContaining({ pointer: '/email' })] },
        { leadId: b?.leadId, submissionId: b?.id },
        { leadId: a?.leadId, submissionId: again?.id },
      ],
    });
    expect(answer.headers['submission-id']).toBe(a?.id);
    expect(new Set(receiver.enqueued.map(({ id }) => id)).size).toBe(3);
    expect(b).toMatchObject({ body: '{"mail":"b@x.io","plan":1}', bodyType: 'json' });
    expect(receiver.rejected).toMatchObject([
      { body: '{"mail":"no","plan":1}', errors: [{ pointer: '/email' }] },
    ]);
    // As it is kept, a row is one lead.
    expect((await receiver.post(b?.body ?? '')).json()).toEqual({ leadId: b?.leadId });
  });

  test('that is a list is refused if every row is, and if it has too many', async () => {
    const receiver = await openApp({ link: { mapping: ROWS } });
    const none = await receiver.post(people('no', 'nor'));
    expect(none.json()).toMatchObject({
      ...{ status: 422, code: 'invalid-lead' },
      errors: [{ pointer: '/0/email' }, { pointer: '/1/email' }],
    });
    expect(receiver.rejected).toHaveLength(2);
    const many = await receiver.post(people(...Array.from({ length: 65 }, () => 'a@x.io')));
    expect(many.json()).toMatchObject({ errors: [{ code: 'too-many-leads' }] });
    expect(receiver.rejected).toHaveLength(3);
    const deep = `{"people":[${'['.repeat(20_000)}${']'.repeat(20_000)}]}`;
    expect((await receiver.post(deep)).json()).toMatchObject({ errors: [{ pointer: '/0' }] });
    expect(receiver.enqueued).toEqual([]);
  });

  test('that is a list is the same submissions under the same idempotency key, and another list is refused', async () => {
    const receiver = await openApp({ link: { mapping: ROWS } });
    const headers = { 'idempotency-key': 'k-1' };
    const first = await receiver.post(people('a@x.io', 'b@x.io'), { headers });
    expect((await receiver.post(people('a@x.io', 'b@x.io'), { headers })).json()).toEqual(
      first.json(),
    );
    const other = await receiver.post(people('a@x.io', 'c@x.io'), { headers });
    expect(other.json()).toMatchObject({ status: 422, code: 'idempotency-key-reused' });
  });

  test('that is a list counts each row against the limits, and is taken whole or not at all', async () => {
    const receiver = await openApp({ link: { mapping: ROWS, linkLimit: 5 } });
    expect((await receiver.post(people('a@x.io', 'b@x.io', 'c@x.io'))).statusCode).toBe(202);
    expect((await receiver.post(people('d@x.io', 'e@x.io', 'f@x.io'))).statusCode).toBe(202);
    expect((await receiver.post(people('g@x.io', 'h@x.io'))).statusCode).toBe(429);
    expect(receiver.enqueued).toHaveLength(6);
  });

  test('that is a list is durable in the spool row by row, and has to be sent again if there is none', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'leadgate-spool-'));
    const spool = await openSpool(directory, { maxBytes: 2 ** 20, logger: SILENT });
    onTestFinished(() => spool.close());
    const backpressure = () => ({ code: 'unavailable' as const, reason: 'Redis is away' });
    const link = { mapping: ROWS };
    const receiver = await openApp({ link, services: { backpressure, spool } });
    const answer = await receiver.post(people('a@x.io', 'no', 'b@x.io'));
    expect(answer.statusCode).toBe(202);
    expect(answer.json()).toMatchObject({ leads: [{}, { code: 'invalid-lead' }, {}] });
    expect(spool.status().waiting).toBe(2);

    const without = await openApp({ link, services: { backpressure } });
    expect((await without.post(people('a@x.io', 'no', 'b@x.io'))).statusCode).toBe(503);
    // Its sender sends the bad row again, too.
    expect(without.rejected).toEqual([]);
  });

  test('of a sender that has to prove itself is refused without proof, and kept without its secret', async () => {
    const proof = { by: { way: 'body' as const, key: 'google_key' }, secret: 'k-123' };
    const receiver = await openApp({ link: { proof, mode: 'strict' } });
    for (const google_key of ['k-12', undefined]) {
      const answer = await receiver.post({ ...ANA, telephone: 'no', google_key });
      expect(answer.statusCode).toBe(403);
      expect(answer.json()).toMatchObject({ code: 'sender-not-proven' });
    }
    expect(receiver.rejected).toEqual([]);
    expect((await receiver.post({ ...ANA, google_key: 'k-123' })).statusCode).toBe(202);
    expect(receiver.submission()).toMatchObject({ lead: ANA });
    expect(JSON.stringify(receiver.submission())).not.toContain('k-123');
  });

  test.each([
    { ...ANA, test: true },
    { email: 'test@meta.com', name: '<test lead: dummy data for full_name>', telephone: '<test' },
  ])('of a test of its sender is answered, and held: %j', async (body) => {
    const receiver = await openApp({ link: { requireIdentity: true } });
    expect((await receiver.post(body)).statusCode).toBe(202);
    expect(receiver.submission().held?.reason).toBe('test');
    expect(receiver.submission().identities).toEqual([]);
  });

  test('carries the consent that came with it, from JSON and from a form', async () => {
    const json = await openApp();
    await json.post({ ...ANA, consent: { given: true, textVersion: '2026-03' } });
    expect(json.submission().consent).toEqual({ given: true, textVersion: '2026-03' });
    const form = await openApp();
    await form.post('consent[given]=on&consent[textVersion]=2026-03', { headers: FORM });
    expect(form.submission().consent).toEqual({ given: true, textVersion: '2026-03' });
    expect(form.submission().notes).toEqual([]);
    const unticked = await openApp();
    await unticked.post('consent[textVersion]=2026-03', { headers: FORM });
    expect(unticked.submission().consent).toEqual({ given: false, textVersion: '2026-03' });
  });

  test('never hands a NUL to Postgres, which cannot hold one', async () => {
    const receiver = await openApp();
    await receiver.post('name=A\0na&city=Re%00cife', { headers: FORM });
    expect(JSON.stringify(receiver.submission())).not.toContain('\\u0000');
  });

  test('survives keys that name prototypes', async () => {
    const receiver = await openApp();
    const body = '{"__proto__":{"x":1},"constructor":{},"prototype":1,"email":"ana@example.com"}';
    expect((await receiver.post(body)).statusCode).toBe(202);
    expect(receiver.submission().lead).toEqual(ANA);
  });

  test.each([`/ingest/${CODE}/`, `//ingest//${CODE}`, `/ingest/${CODE}?utm_source=x`])(
    'may be posted to %s',
    async (url) => {
      const receiver = await openApp();
      expect((await receiver.post(ANA, { url })).statusCode).toBe(202);
    },
  );
});

describe('a form of a page', () => {
  const link = { redirectUrl: 'https://shop.example.com/thanks' };
  const html = { ...FORM, accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

  test('is sent on to where its link says', async () => {
    const receiver = await openApp({ link });
    const answer = await receiver.post('email=ana%40example.com', { headers: html });
    expect(answer.statusCode).toBe(303);
    expect(answer.headers.location).toBe(link.redirectUrl);
    expect(answer.headers['submission-id']).toBe(receiver.submission().id);
  });

  test.each([
    ['pt-BR,pt;q=0.9,en;q=0.8', 'pt', 'Obrigado!'],
    ['de, en-GB;q=0.8', 'en', 'Thank you!'],
    ['en;q=0.1, es-419', 'es', '¡Gracias!'],
    ['de', 'pt', 'Obrigado!'],
    [undefined, 'pt', 'Obrigado!'],
  ])(
    'whose link has no such address is thanked in its visitor’s language (%s: %s)',
    async (languages, language, thanks) => {
      const receiver = await openApp();
      const answer = await receiver.post('name=Ana', {
        headers: { ...html, ...(languages !== undefined && { 'accept-language': languages }) },
      });
      expect(answer.statusCode).toBe(202);
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(answer.headers['submission-id']).toBe(receiver.submission().id);
      expect(answer.body).toContain(`<html lang="${language}">`);
      expect(answer.body).toContain(`<h1>${thanks}</h1>`);
    },
  );

  test('is answered with a page that loads nothing, runs nothing and is not kept', async () => {
    const receiver = await openApp();
    const { headers, body } = await receiver.post('name=Ana', { headers: html });
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; base-uri 'none'; form-action 'none'$/,
    );
    expect(headers['cache-control']).toBe('no-store');
    expect(body).not.toMatch(/<script|https?:|src=|url\(/);
  });

  test.each([
    { ...FORM, accept: '*/*' },
    { ...FORM, accept: 'application/json, text/html' },
    { ...FORM, accept: 'application/json, text/html;q=0.9' },
    { ...FORM, accept: 'text/html;q=0, */*' },
    { 'content-type': 'application/json', accept: 'text/html' },
  ])('is what is sent on, not a script: %j', async (headers) => {
    const receiver = await openApp({ link });
    expect((await receiver.post('{}', { headers })).statusCode).toBe(202);
  });

  test('that is refused is told what to correct, each field by its name', async () => {
    const receiver = await openApp({ link });
    const answer = await receiver.post(
      'email=nobody&telephone=12&address[city]=' + 'x'.repeat(201),
      { headers: { ...html, 'accept-language': 'en' } },
    );
    expect(answer.statusCode).toBe(422);
    expect(answer.body.match(/<li>.*?<\/li>/g)).toEqual([
      '<li>Email: is not a whole email, such as ana@example.com</li>',
      '<li>Telephone: is not a telephone with its area code, of 8 to 15 digits</li>',
      '<li>City: is too long</li>',
    ]);
    expect(answer.body).not.toContain('nobody');
  });

  test('cannot write into the page that tells it what is wrong', async () => {
    const receiver = await openApp();
    const script = encodeURIComponent('<script>alert("1")</script>');
    const body = `email=${script}&customFields[${script}]=x&${script}=x`;
    const answer = await receiver.post(body, { headers: html });
    expect(answer.statusCode).toBe(422);
    expect(answer.body).not.toContain('<script>');
    expect(answer.body).not.toContain('alert(');
  });

  test.each([
    [404, { url: '/ingest/nope' }, 'não existe mais'],
    [410, { link: { state: 'disabled' as const } }, 'não recebe mais respostas'],
    [403, { link: { origins: ['https://shop.example.com'] } }, 'a partir desta página'],
    [415, { type: 'application/xml' }, 'não pôde ser lido'],
    [400, { type: 'multipart/form-data; boundary=x' }, 'não pôde ser lido'],
    [400, { body: ' ' }, 'vazio'],
    [422, { link: { requireIdentity: true } }, 'Informe e-mail ou telefone'],
  ])('keeps its status %d and reads it in words', async (status, staged, words) => {
    const {
      url = `/ingest/${CODE}`,
      body = 'name=Ana',
      type = FORM['content-type'],
    } = {
      ...(staged as { url?: string; body?: string; type?: string }),
    };
    const receiver = await openApp('link' in staged ? { link: staged.link } : {});
    const headers = { ...html, 'content-type': type };
    const answer = await receiver.post(body, { url, headers });
    expect(answer.statusCode).toBe(status);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.body).toContain(words);
  });

  test('is told to come back where nothing can be stored', async () => {
    const receiver = await openApp({ beforeReserve: (redis) => redis.disconnect() });
    const answer = await receiver.post('name=Ana', { headers: html });
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('5');
    expect(answer.body).toContain('Tente de novo');
  });
});

describe('a refused post', () => {
  test('names every bad field at once, and its body is kept for the operators', async () => {
    const receiver = await openApp();
    const body = '{"email":"ana@example.com","telephone":"abc","birthday":"31/02/1981"}';
    const answer = await receiver.post(body, { headers: { referer: 'https://example.com/' } });
    expect(answer.statusCode).toBe(422);
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(answer.json()).toMatchObject({
      type: 'about:blank',
      status: 422,
      code: 'invalid-lead',
      errors: [{ pointer: '/telephone' }, { pointer: '/birthday' }],
    });
    expect(receiver.enqueued).toEqual([]);
    expect(receiver.reserved).toEqual([]);
    expect(receiver.rejected).toMatchObject([
      {
        workspaceId: LINK.workspaceId,
        linkId: LINK.linkId,
        stamp: NOW * 1_000,
        code: 'invalid-lead',
        errors: [{ pointer: '/telephone' }, { pointer: '/birthday' }],
        body,
        bodyType: 'json',
        page: 'https://example.com/',
      },
    ]);
  });

  test('is answered though its body cannot be kept', async () => {
    const receiver = await openApp({
      services: { pushRejected: () => new Promise(() => undefined) },
    });
    expect((await receiver.post({ name: 123 })).statusCode).toBe(422);
    const failing = await openApp({
      services: { pushRejected: () => Promise.reject(new Error('Redis is away')) },
    });
    expect((await failing.post({ name: 123 })).statusCode).toBe(422);
  });

  test('a list of one lead is that lead, and a list of several is refused with what would be right', async () => {
    const receiver = await openApp();
    expect((await receiver.post(JSON.stringify([ANA]))).statusCode).toBe(202);
    expect(receiver.submission()).toMatchObject({ lead: ANA, body: JSON.stringify([ANA]) });
    const several = await receiver.post(JSON.stringify([ANA, ANA]));
    expect(several.statusCode).toBe(422);
    expect(several.json()).toMatchObject({
      code: 'invalid-lead',
      errors: [{ pointer: '', code: 'several-leads' }],
    });
  });

  test.each(['[]', '"text"', '7', 'null'])(
    'of JSON that is no object (%s) is 422',
    async (body) => {
      const receiver = await openApp({ link: { mode: 'lenient' } });
      expect((await receiver.post(body)).json()).toMatchObject({
        code: 'invalid-lead',
        errors: [{ pointer: '' }],
      });
    },
  );

  test('of malformed JSON is 400, and kept while a person could mend it', async () => {
    const receiver = await openApp();
    const answer = await receiver.post('{"email":"ana@example.com"');
    expect(answer.json()).toMatchObject({ status: 400, code: 'malformed-json' });
    expect(receiver.rejected).toMatchObject([
      { code: 'malformed-json', body: '{"email":"ana@example.com"', errors: [{ pointer: '' }] },
    ]);
    await receiver.post(`{${' '.repeat(16 * 1024)}`);
    expect(receiver.rejected).toHaveLength(1);
  });

  test.each([
    ['', { 'content-type': 'application/json' }],
    [' \n', { 'content-type': 'application/json' }],
    ['', FORM],
  ])('of nothing (%j) is 400 and not kept', async (body, headers) => {
    const receiver = await openApp();
    expect((await receiver.post(body, { headers })).json()).toMatchObject({
      status: 400,
      code: 'empty-body',
    });
    expect(receiver.rejected).toEqual([]);
  });

  test('without body and type is told that it is empty', async () => {
    const receiver = await openApp();
    const answer = await receiver.app.inject({ method: 'POST', url: `/ingest/${CODE}` });
    expect(answer.json()).toMatchObject({ status: 400, code: 'empty-body' });
  });

  test.each([
    { 'content-type': 'multipart/form-data' },
    { 'content-type': 'application/xml' },
    { 'content-type': 'application/json; charset=shift_jis' },
    { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    { 'content-type': 'nonsense' },
  ])('of another kind (%j) is 415', async (headers) => {
    const receiver = await openApp();
    expect((await receiver.post('{}', { headers })).json()).toMatchObject({
      status: 415,
      code: 'unsupported-media-type',
    });
  });

  test('of more than 64 KiB is 413, and of exactly 64 KiB is not', async () => {
    const receiver = await openApp({ link: { mode: 'lenient' } });
    const frame = manyLetters(0).length;
    const fits = await receiver.post(manyLetters(64 * 1024 - frame));
    expect(fits.statusCode).toBe(202);
    const over = await receiver.post(manyLetters(64 * 1024 - frame + 1));
    expect(over.json()).toMatchObject({ status: 413, code: 'body-too-large' });
    const far = await receiver.post(manyLetters(2 * 1024 * 1024));
    expect(far.json()).toMatchObject({ status: 413, code: 'body-too-large' });
  });

  test('of a form of a thousand and one fields is 422', async () => {
    const receiver = await openApp();
    const body = Array.from({ length: 1_001 }, (_, i) => `f${i}=1`).join('&');
    expect((await receiver.post(body, { headers: FORM })).json()).toMatchObject({
      code: 'invalid-lead',
      errors: [{ code: 'too-many-fields' }],
    });
    expect(receiver.rejected).toHaveLength(1);
  });

  test('without an identity, where the link needs one, is 422 and kept', async () => {
    const receiver = await openApp({ link: { requireIdentity: true } });
    expect((await receiver.post({ name: 'Ana' })).json()).toMatchObject({
      status: 422,
      code: 'identity-required',
    });
    expect(receiver.rejected).toMatchObject([{ code: 'identity-required' }]);
    expect((await receiver.post(ANA)).statusCode).toBe(202);
  });

  test('never tells in its errors what was sent', async () => {
    const receiver = await openApp();
    const answer = await receiver.post({ email: 'secret-of-ana', telephone: 'secret-too' });
    expect(answer.body).not.toContain('secret');
  });
});

describe('lenient handling', () => {
  const body = { ...ANA, telephone: 'abc', birthday: '31/02/1981' };

  test('asked for by the sender sets bad fields aside and says so', async () => {
    const receiver = await openApp();
    const answer = await receiver.post(body, { headers: { prefer: 'handling=lenient' } });
    expect(answer.statusCode).toBe(202);
    expect(answer.headers['preference-applied']).toBe('handling=lenient');
    expect(receiver.submission().lead).toEqual(ANA);
    expect(receiver.submission().notes).toMatchObject([
      { field: '/telephone', code: 'set-aside' },
      { field: '/birthday', code: 'set-aside' },
    ]);
  });

  test('of the link needs no asking', async () => {
    const receiver = await openApp({ link: { mode: 'lenient' } });
    const answer = await receiver.post(body);
    expect(answer.statusCode).toBe(202);
    expect(answer.headers).not.toHaveProperty('preference-applied');
  });
});

describe('a link', () => {
  test('that does not exist is 404', async () => {
    const receiver = await openApp();
    const answer = await receiver.post(ANA, { url: '/ingest/nope' });
    expect(answer.json()).toMatchObject({ status: 404, code: 'unknown-link' });
  });

  test.each(['/ingest/caf%C3%A9', '/ingest/a%20b', `/ingest/${'x'.repeat(200)}`])(
    'that cannot exist (%s) is 404 without asking anyone',
    async (url) => {
      const receiver = await openApp({
        services: {
          directory: { find: () => Promise.reject(new Error('asked')), peek: () => null },
        },
      });
      expect((await receiver.post(ANA, { url })).json()).toMatchObject({ code: 'unknown-link' });
    },
  );

  test('that is not known yet is 503, never 404', async () => {
    const receiver = await openApp({ redisUrl: await withoutLinks() });
    const answer = await receiver.post(ANA);
    expect(answer.json()).toMatchObject({ status: 503, code: 'unavailable' });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  });

  test.each([{ state: 'disabled' as const }, { expiresAt: NOW }, { expiresAt: NOW - 1 }])(
    'that is closed (%j) is 410',
    async (link) => {
      const receiver = await openApp({ link });
      expect((await receiver.post(ANA)).json()).toMatchObject({ status: 410, code: 'link-closed' });
      expect(receiver.counted).toEqual(['refused:link-closed']);
    },
  );

  test('is open until the millisecond it expires', async () => {
    const receiver = await openApp({ link: { expiresAt: NOW + 1 } });
    expect((await receiver.post(ANA)).statusCode).toBe(202);
    expect(receiver.counted).toEqual([]);
  });

  test('is looked at before the body: a closed one answers 410 to anything', async () => {
    const receiver = await openApp({ link: { state: 'disabled' } });
    const answer = await receiver.post('x', { headers: { 'content-type': 'text/html' } });
    expect(answer.statusCode).toBe(410);
  });
});

describe('origins', () => {
  const origins = ['https://shop.example.com'];

  test('that are listed may post and read the answer', async () => {
    const receiver = await openApp({ link: { origins } });
    const answer = await receiver.post(ANA, { headers: { origin: 'https://shop.example.com' } });
    expect(answer.statusCode).toBe(202);
    expect(answer.headers['access-control-allow-origin']).toBe('https://shop.example.com');
    expect(answer.headers.vary).toBe('Origin');
  });

  test.each([
    'https://evil.example.com',
    'http://shop.example.com',
    'https://shop.example.com:8443',
    'null',
  ])('that are not (%s) are 403, leave no lead, and can read why', async (origin) => {
    const receiver = await openApp({ link: { origins, allowServers: true } });
    const answer = await receiver.post(ANA, { headers: { origin } });
    expect(answer.json()).toMatchObject({ status: 403, code: 'origin-not-allowed' });
    expect(answer.headers['access-control-allow-origin']).toBe(origin);
    expect(answer.headers.vary).toBe('Origin');
    expect(receiver.reserved).toEqual([]);
  });

  test('absent are 403 unless the link allows servers', async () => {
    const strict = await openApp({ link: { origins } });
    expect((await strict.post(ANA)).statusCode).toBe(403);
    const open = await openApp({ link: { origins, allowServers: true } });
    expect((await open.post(ANA)).statusCode).toBe(202);
  });
});

describe('an idempotency key', () => {
  const headers = { 'idempotency-key': 'k-1' };

  test('goes to the reservation with a hash of the body, and without one where there is none', async () => {
    const receiver = await openApp();
    await receiver.post(ANA, { headers });
    await receiver.post(ANA);
    expect(receiver.reserved[0]?.idempotency).toMatchObject({ key: 'k-1' });
    expect(receiver.reserved[1]).not.toHaveProperty('idempotency');
  });

  test('of a fetch and of the beacon after it are the same key and the same body', async () => {
    const receiver = await openApp();
    await receiver.post('{"email":"ana@example.com","name":"Ana"}', { headers });
    await receiver.post('{"name":"Ana", "_idempotencyKey":"k-1","email":"ana@example.com"}', {
      headers: { 'content-type': 'text/plain' },
    });
    const [fetch, beacon] = receiver.reserved;
    expect(beacon?.idempotency).toEqual(fetch?.idempotency);
    expect(receiver.enqueued[1]?.notes).toEqual([]);
  });

  test('seen before with the same body gets the first answer, enqueued again under its id', async () => {
    const receiver = await openApp();
    await receiver.post(ANA, { headers });
    const answer = await receiver.post(ANA, { headers });
    const [first, again] = receiver.enqueued;
    expect(answer.json()).toEqual({ leadId: first?.leadId });
    expect(answer.headers['submission-id']).toBe(first?.id);
    const { id, leadId, order, stamp } = first ?? {};
    expect(again).toMatchObject({ id, leadId, order, stamp });
    expect(again?.requestId).toMatch(UUID_V7);
    expect(again?.requestId).not.toBe(id);
  });

  test('that cannot be enqueued again is not answered as if it were', async () => {
    const receiver = await openApp({
      beforeEnqueue: (redis) => {
        if (receiver.enqueued.length > 0) redis.disconnect();
      },
    });
    expect((await receiver.post(ANA, { headers })).statusCode).toBe(202);
    expect((await receiver.post(ANA, { headers })).statusCode).toBe(503);
  });

  test('seen before with another body is 422, and what it came with is held', async () => {
    const receiver = await openApp();
    await receiver.post({ email: 'stranger@example.com' }, { headers });
    expect((await receiver.post(ANA, { headers })).json()).toMatchObject({
      status: 422,
      code: 'idempotency-key-reused',
    });
    expect(receiver.enqueued.map(({ held }) => held?.reason)).toEqual([undefined, 'key-reused']);
  });

  test('that cannot be remembered is 422, beside the bad fields, in either mode', async () => {
    const receiver = await openApp();
    const long = { 'idempotency-key': 'x'.repeat(256) };
    const answer = await receiver.post({ email: 'nobody' }, { headers: long });
    expect(answer.json()).toMatchObject({
      code: 'invalid-lead',
      errors: [{ pointer: '', code: 'invalid-idempotency-key' }, { pointer: '/email' }],
    });
    const lenient = { ...long, prefer: 'handling=lenient' };
    expect((await receiver.post(ANA, { headers: lenient })).statusCode).toBe(422);
  });
});

describe('rate limits', () => {
  const config = { RATE_LIMIT_LINK: 2, RATE_LIMIT_ADDRESS: 3, KEEP_ADDRESS: 'none' } as const;

  test('of a link turn a flood away before its bodies are read', async () => {
    const receiver = await openApp({ services: { config } });
    for (let i = 0; i < 2; i += 1) await receiver.post(ANA);
    const answer = await receiver.post(ANA);
    expect(answer.json()).toMatchObject({ status: 429, code: 'rate-limited' });
    expectToWaitForTheMinute(answer.headers);
    expect(receiver.reserved).toHaveLength(2);
  });

  test('of the link itself come before the receiver’s', async () => {
    const receiver = await openApp({
      link: { linkLimit: 5, addressLimit: 1 },
      services: { config },
    });
    expect((await receiver.post(ANA, { remoteAddress: '203.0.113.1' })).statusCode).toBe(202);
    expect((await receiver.post(ANA, { remoteAddress: '203.0.113.1' })).statusCode).toBe(429);
    expect((await receiver.post(ANA, { remoteAddress: '203.0.113.2' })).statusCode).toBe(202);
  });

  test('go to the reservation, which counts them exactly, without the address itself', async () => {
    const receiver = await openApp({ services: { config } });
    await receiver.post(ANA, { remoteAddress: '203.0.113.1' });
    expect(receiver.reserved[0]?.limits).toEqual([
      { key: `link:${LINK.linkId}`, max: 2 },
      { key: expect.stringMatching(/^address:[\w-]{22}$/) as string, max: 3 },
    ]);
  });

  test('count a body of unknown keys as the posts that would have its length', async () => {
    const receiver = await openApp({ services: { config: { ...config, RATE_LIMIT_LINK: 40 } } });
    const large = {
      ...ANA,
      ...Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`k${i}`, 'x'.repeat(4_096)])),
    };
    const post = (body: object, n: number) =>
      receiver.post(body, { remoteAddress: `203.0.113.${n}` });
    expect((await post(large, 1)).statusCode).toBe(202);
    expect(receiver.reserved[0]?.limits[0]).toMatchObject({ max: 40, weight: 31 });
    expect((await post(large, 2)).statusCode).toBe(202);
    expect((await post(ANA, 3)).statusCode).toBe(429);
    // Of its unknown keys two are kept; of a refused body too, which counts as much.
    const [first] = receiver.enqueued;
    expect(first?.notes).toContainEqual(
      expect.objectContaining({ code: 'unknown-keys-dropped', detail: '14 of them' }),
    );
    expect(first?.body.length).toBeLessThan(8_400);
    const other = await openApp({ services: { config: { ...config, RATE_LIMIT_LINK: 40 } } });
    const wrong = { ...large, email: 'none' };
    const refuse = (n: number) => other.post(wrong, { remoteAddress: `203.0.113.${n}` });
    expect((await refuse(1)).statusCode).toBe(422);
    expect((await refuse(2)).statusCode).toBe(422);
    expect((await refuse(3)).statusCode).toBe(429);
    expect(other.rejected[0]?.body.length).toBeLessThan(8_400);
  });

  test('that the reservation finds exceeded are 429 for as long as it says', async () => {
    const redisUrl = await emptyRedis();
    // Another receiver has let in what its link takes: this one has not heard of it.
    const other = await openApp({ redisUrl, services: { config } });
    for (let i = 0; i < 2; i += 1) await other.post(ANA);
    const receiver = await openApp({ redisUrl, services: { config } });
    const answer = await receiver.post(ANA);
    expect(answer.statusCode).toBe(429);
    expectToWaitForTheMinute(answer.headers);
    expect(receiver.reserved).toHaveLength(1);
    expect(receiver.enqueued).toEqual([]);
    expect(receiver.rejected).toEqual([]);
  });

  test('slow down who guesses codes, in this process', async () => {
    const receiver = await openApp({ services: { config } });
    const statuses: number[] = [];
    for (let i = 0; i < 4; i += 1)
      statuses.push((await receiver.post(ANA, { url: `/ingest/guess-${i}` })).statusCode);
    expect(statuses).toEqual([404, 404, 404, 429]);
  });

  test('count a sender behind a trusted proxy by the address that the proxy names', async () => {
    const options = { link: { addressLimit: 1 }, server: { TRUST_PROXY: ['10.0.0.0/8'] } };
    const from = (forwarded: string, remoteAddress: string) => ({
      remoteAddress,
      headers: { 'x-forwarded-for': forwarded },
    });
    const receiver = await openApp(options);
    expect((await receiver.post(ANA, from('203.0.113.1', '10.0.0.1'))).statusCode).toBe(202);
    expect((await receiver.post(ANA, from('203.0.113.2:99', '10.0.0.1'))).statusCode).toBe(202);
    expect((await receiver.post(ANA, from('203.0.113.1', '10.0.0.2'))).statusCode).toBe(429);
    expect(receiver.enqueued.map(({ address }) => address)).toEqual(['203.0.113.1', '203.0.113.2']);
  });

  test.each([
    ['203.0.113.1:4711, 10.0.0.2:443', '203.0.113.1'],
    ['198.51.100.9, 203.0.113.1:4711, 10.0.0.2', '203.0.113.1'],
    ['[2001:db8::1]:4711, 10.0.0.2:443', '2001:db8::1'],
  ])(
    'find the client beyond two trusted proxies that write ports: %s',
    async (forwarded, client) => {
      const receiver = await openApp({ server: { TRUST_PROXY: ['10.0.0.0/8'] } });
      const headers = { 'x-forwarded-for': forwarded };
      await receiver.post(ANA, { remoteAddress: '10.0.0.1', headers });
      expect(receiver.submission().address).toBe(client);
    },
  );

  test('do not believe an X-Forwarded-For of anybody else', async () => {
    const receiver = await openApp({ link: { addressLimit: 1 } });
    const headers = (address: string) => ({ headers: { 'x-forwarded-for': address } });
    expect((await receiver.post(ANA, headers('203.0.113.1'))).statusCode).toBe(202);
    expect((await receiver.post(ANA, headers('203.0.113.2'))).statusCode).toBe(429);
  });
});

function expectToWaitForTheMinute(headers: Record<string, unknown>): void {
  const seconds = Number(headers['retry-after']);
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(seconds).toBeLessThanOrEqual(60);
}

describe('when Redis does not take a lead', () => {
  async function notTaken(receiver: Awaited<ReturnType<typeof openApp>>): Promise<void> {
    const start = performance.now();
    const answer = await receiver.post(ANA);
    expect(performance.now() - start).toBeLessThan(1_000);
    expect(answer.json()).toMatchObject({ status: 503, code: 'unavailable' });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(receiver.enqueued).toEqual([]);
  }

  test('because it came back empty it is 503 with Retry-After', async () => {
    const receiver = await openApp();
    await receiver.redis.flushdb();
    await notTaken(receiver);
    expect(receiver.reserved).toHaveLength(1);
  });

  type Staged = Pick<AppOptions, 'beforeReserve' | 'beforeEnqueue'>;
  const STAGES: [string, (stop: () => void) => Staged][] = [
    ['the reservation', (stop) => ({ beforeReserve: stop })],
    ['the queue', (stop) => ({ beforeEnqueue: stop })],
  ];

  test.each(STAGES)('because %s fails it is 503 with Retry-After', async (_what, stage) => {
    const receiver = await openApp(stage(() => receiver.redis.disconnect()));
    await notTaken(receiver);
  });

  test('because the directory is silent it is 503 within a second', async () => {
    const proxy = await startSilentProxy(await withoutLinks());
    onTestFinished(proxy.close);
    const receiver = await openApp({ redisUrl: proxy.url });
    proxy.silence();
    await notTaken(receiver);
    expect(receiver.reserved).toEqual([]);
  });

  test.each(STAGES)('because %s is silent it is 503 within a second', async (_what, stage) => {
    const proxy = await startSilentProxy(await emptyRedis());
    onTestFinished(proxy.close);
    await notTaken(await openApp({ redisUrl: proxy.url, ...stage(proxy.silence) }));
  });

  test('a reservation that comes too late is not enqueued after its 503', async () => {
    const server = await startRedisServer();
    onTestFinished(server.stop);
    const admin = connectTo(server.url);
    await refill(admin);
    const receiver = await openApp({ redisUrl: server.url });
    // So that Redis knows the script.
    await receiver.post({ email: 'bia@example.com' });
    await admin.call('CLIENT', 'PAUSE', '1500', 'WRITE');
    expect((await receiver.post(ANA)).statusCode).toBe(503);
    // It answers once the pause is over, and the reservation has run by then.
    await admin.set('later', '1');
    expect(await admin.keys('leadgate:{*}:i:*')).toHaveLength(2);
    expect(receiver.enqueued.map(({ lead }) => lead.email)).toEqual(['bia@example.com']);
    expect(await admin.keys('*:wait')).toHaveLength(1);
  });
});

async function withoutLinks(): Promise<string> {
  const url = await emptyRedis();
  const admin = connectTo(url);
  await admin.flushdb();
  return url;
}

const bug = (): never => {
  throw new Error('secret of the house');
};
const LINK_WITH_BUG: CaptureLink = {
  ...LINK,
  get linkLimit() {
    return bug();
  },
};

test.each<[when: string, services: NonNullable<AppOptions['services']>]>([
  ['before a link is looked up', { clock: bug }],
  ['with a link that is known', { directory: { peek: () => LINK_WITH_BUG, find: bug } }],
  [
    'after a link was asked for',
    {
      directory: {
        peek: () => null,
        find: () => Promise.resolve({ kind: 'found', link: LINK_WITH_BUG }),
      },
    },
  ],
])(
  'a bug %s is 500 without a word of what it was, and readable by the page',
  async (_when, services) => {
    const receiver = await openApp({ services });
    const answer = await receiver.post(ANA);
    expect(answer.json()).toEqual({
      type: 'about:blank',
      title: expect.any(String) as string,
      status: 500,
      code: 'internal',
    });
    expect(answer.headers['access-control-allow-origin']).toBe('*');
  },
);
