import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { consoleMetrics } from '../apps/console/src/routes/health.ts';
import { createDelivererMetrics, SHARES } from '../apps/deliverer/src/metrics.ts';
import { createReceiverMetrics } from '../apps/receiver/src/metrics.ts';
import { createWorkerMetrics } from '../apps/worker/src/metrics.ts';
import { deliveryFigures, openStore } from '@leadgate/store';

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const no = () => false;

// Neither connects: nothing is read from them here.
const redis = new Redis({ lazyConnect: true });
const store = openStore({ url: 'postgresql://nowhere/nothing', poolSize: 1 });
afterAll(() => store.close());

const registries = [
  createReceiverMetrics({ redisIsReady: no, directoryIsComplete: no, spoolStatus: () => null })
    .registry,
  createWorkerMetrics({ redis, redisIsReady: no, postgresIsAway: no, jobsLeft: () => 0 }).registry,
  consoleMetrics(redis, store),
  createDelivererMetrics({
    figures: () => deliveryFigures(store),
    lanes: () => 0,
    postgresIsAway: no,
  }).registry,
];
const names = new Set([
  ...registries.flatMap((registry) => registry.names()),
  'leadgate_sign_ins_total',
]);

/** The metrics that a text names; a histogram is known by its three. */
function metricsIn(text: string): string[] {
  const found = text.match(/\b(leadgate|nodejs|process)_[a-z0-9_]+/g) ?? [];
  return [...new Set(found.map((name) => name.replace(/_(bucket|sum|count)$/, '')))];
}

interface Alerts {
  groups: {
    rules: {
      alert: string;
      expr: string;
      labels: { severity: string };
      annotations: { summary: string; runbook: string };
    }[];
  }[];
}
const rules = (parse(read('deploy/prometheus/alerts.yml')) as Alerts).groups.flatMap(
  (group) => group.rules,
);

test('alerts and dashboard ask for metrics that exist: a misspelt one would never fire', () => {
  const dashboard = JSON.parse(read('deploy/grafana/leadgate.json')) as {
    panels: { id: number; title: string; targets: { expr: string }[] }[];
  };
  const asked = [
    ...rules.map(({ expr }) => expr),
    ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ];
  expect(asked.length).toBeGreaterThan(25);
  expect(metricsIn(asked.join('\n')).filter((name) => !names.has(name))).toEqual([]);
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
});

test('every alert says what is the matter, and where its runbook is', () => {
  const headings = [...read('docs/operations.md').matchAll(/^### (.+)$/gm)].map(([, title = '']) =>
    title.toLowerCase().replaceAll(' ', '-'),
  );
  for (const { alert, annotations, labels } of rules) {
    expect(alert).toMatch(/^Leadgate[A-Z]\w+$/);
    expect(['page', 'ticket']).toContain(labels.severity);
    expect(annotations.summary).not.toBe('');
    const [file, heading] = annotations.runbook.split('#');
    expect([alert, file]).toEqual([alert, 'docs/operations.md']);
    expect(headings).toContain(heading);
  }
});

test('values of labels that alerts compare with are ones that exist', async () => {
  const text = (await Promise.all(registries.slice(0, 1).map((one) => one.text()))).join('\n');
  for (const { expr } of rules) {
    for (const [, pattern = ''] of expr.matchAll(/answer=~?"([^"]+)"/g))
      for (const value of pattern.split('|')) expect(text).toContain(`answer="${value}"`);
    for (const [, pattern = ''] of expr.matchAll(/share=~?"([^"]+)"/g))
      for (const value of pattern.split('|')) expect(SHARES).toContain(value);
  }
});

test('no metric has a label for a link, a lead, a workspace or an address', () => {
  expect([...names].join(' ')).not.toMatch(/_(link|lead|workspace|address)_id/);
});
