import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSystem, type System } from './system.ts';

/** A situation from a public bug report of a system that does this job. */
interface Case {
  /** Of the second collection, which has several of a source. */
  name?: string;
  source: string;
  situation: string;
  steps: Step[];
  expect: string;
}
interface Step {
  post?: unknown;
  posts?: unknown[];
  raw?: string;
  parallel?: number;
  headers?: Record<string, string>;
  contentType?: string;
  options?: true;
  link?: string;
}
interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}
interface LeadRow {
  id: string;
  [column: string]: unknown;
}

const cases = ['public-cases.jsonl', 'public-cases-2.jsonl'].flatMap((file) =>
  readFileSync(new URL(file, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Case),
);
const nameOf = ({ name, source }: Case): string => name ?? source;

// In São Paulo midnight UTC is another day: a date read as a time would show.
const elsewhere = { TZ: 'America/Sao_Paulo' };

let system: System;
beforeAll(async () => {
  system = await startSystem({ receiverEnv: elsewhere, workerEnv: elsewhere });
}, 60_000);
afterAll(async () => {
  await system?.stop();
});

/** One case on a workspace of its own. */
class Stage {
  readonly workspace: string;
  readonly code: string;

  constructor(workspace: string, code: string) {
    this.workspace = workspace;
    this.code = code;
  }

  async post(step: Step, more: Record<string, string> = {}): Promise<Answer> {
    const receiver = system.receivers[0];
    if (receiver === undefined) throw new Error('no receiver');
    const text =
      step.raw ?? (typeof step.post === 'string' ? step.post : JSON.stringify(step.post));
    const response = await fetch(`${receiver.url}/ingest/${step.link ?? this.code}`, {
      method: 'POST',
      headers: {
        'content-type': step.contentType ?? 'application/json',
        ...step.headers,
        ...more,
      },
      body: text,
    });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Record<string, unknown>,
    };
  }

  /** Plays the steps one after the other; what is parallel in a step, at once. */
  async play(steps: Step[], more: Record<string, string> = {}): Promise<Answer[]> {
    const answers: Answer[] = [];
    for (const step of steps) {
      const bodies = step.posts ?? [step.post];
      const times = step.parallel ?? 1;
      const copies = Array.from({ length: times }, (_, i) =>
        step.raw === undefined ? { ...step, post: bodies[i % bodies.length] } : step,
      );
      answers.push(...(await Promise.all(copies.map((copy) => this.post(copy, more)))));
    }
    await system.settle();
    return answers;
  }

  leads(): Promise<LeadRow[]> {
    return system.query<LeadRow>(
      `SELECT lead.id, merged_into, email, lead.name, telephone, document, city, state, birthday::text AS birthday,
              first_touch, last_touch, custom_fields
         FROM lead JOIN workspace ON workspace.id = workspace_id
        WHERE workspace.name = $1 AND merged_into IS NULL ORDER BY creator_order`,
      [this.workspace],
    );
  }

  async onlyLead(): Promise<LeadRow> {
    const leads = await this.leads();
    expect(leads).toHaveLength(1);
    return leads[0] as LeadRow;
  }

  identities(): Promise<{ key: string; lead_id: string }[]> {
    return system.query(
      `SELECT key, lead_id FROM identity JOIN workspace ON workspace.id = workspace_id
        WHERE workspace.name = $1 ORDER BY key`,
      [this.workspace],
    );
  }

  submissions(): Promise<
    { id: string; lead_id: string; notes: { field: string; code: string }[] }[]
  > {
    return system.query(
      `SELECT submission.id, lead_id, notes FROM submission JOIN workspace ON workspace.id = workspace_id
        WHERE workspace.name = $1 ORDER BY submission.order`,
      [this.workspace],
    );
  }

  possibleDuplicates(): Promise<{ lead_a: string; lead_b: string }[]> {
    return system.query(
      `SELECT lead_a, lead_b FROM possible_duplicate JOIN workspace ON workspace.id = workspace_id
        WHERE workspace.name = $1`,
      [this.workspace],
    );
  }
}

const statuses = (answers: Answer[]): number[] => answers.map(({ status }) => status);
const leadIds = (answers: Answer[]): Set<unknown> =>
  new Set(answers.map(({ body }) => body.leadId));

/** Case by its name, or else its source: what its expectation comes to. */
const expectations: Record<string, (stage: Stage, steps: Step[]) => Promise<void>> = {
  'prisma/orm#3242': async (stage, steps) => {
    const answers = await stage.play(steps);
    expect(statuses(answers)).toEqual(Array(20).fill(202));
    expect(leadIds(answers).size).toBe(1);
    expect((await stage.onlyLead()).id).toBe(answers[0]?.body.leadId);
    expect(await stage.identities()).toHaveLength(1);
    expect(await stage.submissions()).toHaveLength(20);
  },

  'prisma/orm#19559': async (stage, steps) => {
    const answers = await stage.play(steps);
    expect(new Set(statuses(answers))).toEqual(new Set([202]));
    const leads = await stage.leads();
    expect(leads.length).toBeLessThanOrEqual(2);
    const identities = await stage.identities();
    expect(identities.map(({ key }) => key)).toEqual([
      'email:e1@example.com',
      'email:e2@example.com',
      'phone:+5511900000001',
      'phone:+5511900000012',
    ]);
    const resolvable = await system.query<{ id: string }>('SELECT id FROM lead');
    const known = new Set(resolvable.map(({ id }) => id));
    for (const id of leadIds(answers)) expect(known).toContain(id);
  },

  'GoHighLevel/highlevel-api-docs#37': async (stage, steps) => {
    const answers = await stage.play(steps);
    const [ofEmail, ofPhone, ofBoth] = answers.map(({ body }) => body.leadId as string);
    expect(ofBoth).toBe(ofEmail);
    const leads = new Map((await stage.leads()).map((lead) => [lead.id, lead]));
    expect(leads.get(ofEmail as string)).toMatchObject({ city: 'Recife' });
    expect(leads.get(ofPhone as string)).toMatchObject({ city: null, email: null });
    expect(await stage.identities()).toEqual([
      { key: 'email:ana@example.com', lead_id: ofEmail },
      { key: 'phone:+5511900000002', lead_id: ofPhone },
    ]);
    expect(await stage.possibleDuplicates()).toEqual([
      { lead_a: [ofEmail, ofPhone].sort()[0], lead_b: [ofEmail, ofPhone].sort()[1] },
    ]);
  },

  'forem/forem#23664': async (stage, steps) => {
    const answers = await stage.play(steps);
    expect(leadIds(answers).size).toBe(1);
    expect(await stage.submissions()).toHaveLength(1);
    const other = await stage.post({
      post: { email: 'bia@example.com' },
      headers: { 'idempotency-key': 'k-1' },
    });
    expect(other.status).toBe(422);
    expect(other.body.code).toBe('idempotency-key-reused');
  },

  'chatwoot/chatwoot#2553': async (stage, steps) => {
    expect(leadIds(await stage.play(steps)).size).toBe(1);
    await stage.onlyLead();
  },

  'sindresorhus/query-string#305': async (stage, steps) => {
    await stage.play(steps);
    expect((await stage.onlyLead()).email).toBe('ana+x@example.com');
  },

  'twentyhq/twenty#16270': async (stage, steps) => {
    expect(leadIds(await stage.play(steps)).size).toBe(2);
    expect(await stage.leads()).toHaveLength(2);
  },

  'Automattic/jetpack-crm#31': async (stage, steps) => {
    await stage.play(steps);
    expect(await stage.onlyLead()).toMatchObject({ name: 'Ana', city: 'Recife' });
  },

  'fastify/fastify#5367': async (stage, steps) => {
    expect(statuses(await stage.play(steps))).toEqual([202]);
    expect((await stage.onlyLead()).name).toBeNull();
  },

  'fastify/fastify#497': async (stage, steps) => {
    const answers = await stage.play(steps);
    expect(statuses(answers)).toEqual([202, 422]);
    expect((await stage.onlyLead()).telephone).toBe('5511900000004');
    expect(answers[1]?.body.errors).toEqual([expect.objectContaining({ pointer: '/name' })]);
  },

  'Dolibarr/dolibarr#22377': async (stage, steps) => {
    expect(leadIds(await stage.play(steps)).size).toBe(1);
    await stage.onlyLead();
  },

  'hitobito/hitobito#4147': async (stage, steps) => {
    const [refused] = await stage.play(steps);
    expect(refused?.status).toBe(422);
    const pointers = (refused?.body.errors as { pointer: string }[]).map(({ pointer }) => pointer);
    expect(pointers.sort()).toEqual(['/birthday', '/telephone']);
    const sent = JSON.stringify(steps[0]?.post);
    await expect
      .poll(
        () =>
          system.query(
            `SELECT body FROM rejected_submission r JOIN workspace w ON w.id = r.workspace_id WHERE w.name = $1`,
            [stage.workspace],
          ),
        { timeout: 10_000 },
      )
      .toEqual([{ body: sent }]);

    const [accepted] = await stage.play(steps, { prefer: 'handling=lenient' });
    expect(accepted?.status).toBe(202);
    const [submission] = await stage.submissions();
    expect(submission?.notes.map(({ field, code }) => `${field} ${code}`).sort()).toEqual([
      '/birthday set-aside',
      '/telephone set-aside',
    ]);
  },

  'VitorLuizC/brazilian-values#42': async (stage, steps) => {
    await stage.play(steps);
    expect((await stage.onlyLead()).document).toBe('01234567890');
  },

  'terminal42/contao-leads#53': async (stage, steps) => {
    const [answer] = await stage.play(steps);
    expect((await stage.onlyLead()).birthday).toBe('1980-09-27');
    const shown = await system.cli<{ birthday: string }>(
      'lead',
      'show',
      answer?.body.leadId as string,
    );
    expect(shown.birthday).toBe('1980-09-27');
  },

  'brazilian-utils/python#396': async (stage, steps) => {
    await stage.play(steps);
    expect((await stage.onlyLead()).state).toBe('SP');
  },

  'mautic/mautic#11317': async (stage, steps) => {
    expect(statuses(await stage.play(steps))).toEqual([202]);
    const lead = await stage.onlyLead();
    expect((lead.last_touch as { values: { utmContent: string } }).values.utmContent).toHaveLength(
      2048,
    );
    expect((await stage.submissions())[0]?.notes).toEqual([
      expect.objectContaining({ field: '/utmContent', code: 'cut' }),
    ]);
  },

  'krayin/laravel-crm#2046': async (stage, steps) => {
    await stage.play(steps);
    const lead = await stage.onlyLead();
    expect(lead.last_touch).toMatchObject({ values: { utmSource: 'meta' } });
    expect((lead.last_touch as { values: object }).values).not.toHaveProperty('utmMedium');
    expect(lead.first_touch).toMatchObject({ values: { utmSource: 'google', utmMedium: 'cpc' } });
  },

  'mautic/mautic#11151': async (stage, steps) => {
    await stage.play(steps);
    expect((await stage.onlyLead()).name).toBe('Ana 🌸 שלום');
  },

  'mastra-ai/mastra#21726': async (stage, steps) => {
    const others = Array.from({ length: 99 }, (_, i) => ({ post: { email: `s${i}@example.com` } }));
    const answers = await Promise.all([...steps, ...others].map((step) => stage.post(step)));
    await system.settle();
    expect(new Set(statuses(answers))).toEqual(new Set([202]));
    const leads = await stage.leads();
    expect(leads).toHaveLength(100);
    expect(leads.find(({ email }) => email === 's@example.com')?.name).toBe('A\ufffd');
  },

  'hasgeek/funnel#1544': async (stage, steps) => {
    await system.cli(
      'field',
      'create',
      stage.workspace,
      '--name',
      'Profissão',
      '--label',
      'O que faz',
      '--type',
      'text',
    );
    await stage.play(steps);
    expect(Object.values((await stage.onlyLead()).custom_fields as object)).toEqual(['x']);
  },

  'jstanden/cerb#486': async (stage, steps) => {
    const create = [
      'field',
      'create',
      stage.workspace,
      '--name',
      'plano',
      '--label',
      'Plano',
      '--type',
      'select',
    ];
    await system.cli(...create, '--option', 'ouro', '--option', 'prata');
    expect(statuses(await stage.play(steps))).toEqual([202]);
    expect((await stage.onlyLead()).custom_fields).toEqual({});
    expect((await stage.submissions())[0]?.notes).toEqual([
      expect.objectContaining({ field: '/customFields/plano', code: 'invalid-custom-value' }),
    ]);
    const fields = await system.cli<{ options: string[] }[]>('field', 'list', stage.workspace);
    expect(fields[0]?.options).toEqual(['ouro', 'prata']);
  },

  'fastify/fastify#1174': async (stage, steps) => {
    expect(statuses(await stage.play(steps))).toEqual([202]);
    await stage.onlyLead();
  },

  'espocrm/espocrm#1046': async (stage, steps) => {
    const page = { origin: 'https://landing.example' };
    const preflight = await fetch(`${system.receivers[0]?.url}/ingest/${stage.code}`, {
      method: 'OPTIONS',
      headers: {
        ...page,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    });
    expect(preflight.status).toBe(204);
    const answers = [];
    for (const step of steps.slice(1)) answers.push(await stage.post(step, page));
    expect(statuses(answers)).toEqual([404, 400]);
    for (const headers of [preflight.headers, ...answers.map((answer) => answer.headers)]) {
      expect(headers.get('access-control-allow-origin')).toMatch(
        /^(\*|https:\/\/landing\.example)$/,
      );
    }
  },

  'undefined-custom-values': async (stage, steps) => {
    const number = ['--name', 'notas', '--label', 'Notas', '--type', 'number'];
    await system.cli('field', 'create', stage.workspace, ...number);
    expect(statuses(await stage.play(steps))).toEqual([202]);
    expect(await stage.onlyLead()).toMatchObject({ email: 'pp@example.com', custom_fields: {} });
    const [submission] = await stage.submissions();
    expect(submission?.notes.map(({ field, code }) => `${field} ${code}`).sort()).toEqual([
      '/customFields/__proto__ invalid-custom-value',
      '/customFields/notas invalid-custom-value',
      '/customFields/plano2 invalid-custom-value',
    ]);
  },

  'google-unmapped': async (stage, steps) => {
    expect(statuses(await stage.play(steps))).toEqual([202]);
    expect(await stage.onlyLead()).toMatchObject({ email: null, name: null });
    const codes = (await stage.submissions())[0]?.notes.map(({ code }) => code);
    expect(codes).toContain('nothing-recognised');
    await system.cli('link', 'map', stage.code, '--preset', 'google-lead-form');
    await expect
      .poll(
        async () => {
          await stage.play(steps);
          return (await stage.leads()).filter(({ email }) => email !== null);
        },
        { timeout: 10_000 },
      )
      .toMatchObject([
        {
          ...{ name: 'Joana Prado', email: 'joana@example.com', telephone: '5511987650001' },
          ...{ city: 'Recife', last_touch: { values: { attribution: { gclid: 'Cj0-test-1' } } } },
        },
      ]);
  },

  'labels-as-keys': async (stage, steps) => {
    expect(statuses(await stage.play(steps))).toEqual([202]);
    const codes = (await stage.submissions())[0]?.notes.map(({ code }) => code);
    expect(codes).toContain('nothing-recognised');
  },

  'formulas-in-exports': async (stage, steps) => {
    expect(statuses(await stage.play(steps))).toEqual([202, 202]);
    expect((await stage.leads()).map(({ name }) => name)).toEqual([
      "Ana\n=cmd|'/C calc'!A0",
      "Ana;=cmd|'/C calc'!A0;x",
    ]);
  },

  'external-id': async (stage, steps) => {
    const answers = await stage.play(steps);
    expect(statuses(answers)).toEqual(Array(21).fill(202));
    expect(leadIds(answers).size).toBe(1);
    expect(await stage.submissions()).toHaveLength(1);
  },

  'double-click': async (stage) => {
    const first = { email: 'dc@example.com', name: 'Ana' };
    const answers = await Promise.all([
      stage.post({ post: first }),
      stage.post({ post: { ...first, city: 'Recife' } }),
    ]);
    await system.settle();
    expect(leadIds(answers).size).toBe(1);
    expect(await stage.submissions()).toHaveLength(2);
    expect(await stage.onlyLead()).toMatchObject({ name: 'Ana', city: 'Recife' });
  },
};

/** Cases that need a server to stop, a row of poison, a browser or a file: each has a test if that can be staged. */
const elsewhereTested: Record<string, string> = {
  'outpost#670': 'packages/queue/src/failed/failed-jobs.integration.test.ts',
  'taskforcesh/bullmq#995': 'e2e/outages.e2e.test.ts',
  'langfuse/langfuse#6380': 'e2e/outages.e2e.test.ts',
  'langfuse/langfuse#15559': 'e2e/outages.e2e.test.ts',
  'hatchet-dev/hatchet#4619': 'apps/worker/src/poison.integration.test.ts',
  'google-proof-and-test': 'packages/leads/src/mapping.test.ts',
  'click-before-the-form': 'packages/capture/src/snippet.browser.test.ts',
  'meta-export': 'packages/operations/src/import/import.integration.test.ts',
  'meta-export-next-week': 'packages/operations/src/import/import.integration.test.ts',
  'excel-in-portuguese': 'packages/operations/src/import/import.integration.test.ts',
  typeform: 'packages/leads/src/mapping.test.ts',
};

describe('public cases', () => {
  test.each(cases.filter((one) => expectations[nameOf(one)] !== undefined))(
    '$situation ($source)',
    async (one) => {
      const { workspace, code } = await system.openLink();
      await expectations[nameOf(one)]?.(new Stage(workspace, code), one.steps);
    },
    60_000,
  );

  test('no case is forgotten', () => {
    const covered = new Set([...Object.keys(expectations), ...Object.keys(elsewhereTested)]);
    expect(cases.map(nameOf).filter((name) => !covered.has(name))).toEqual([]);
  });
});
