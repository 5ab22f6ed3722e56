import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';
import { NODE_OPTIONS } from '../scripts/launcher/node-options.js';
import { IMAGES } from '../scripts/servers/containers.js';
import { SETTINGS } from './settings.ts';

interface Service {
  image: string;
  build?: string;
  command: string[];
  environment: Record<string, string>;
  networks: string[];
  ports?: string[];
  volumes?: string[];
  read_only?: boolean;
  user?: string;
  cap_drop?: string[];
  healthcheck?: { test: string[] };
  deploy: { resources: { limits: { memory: string } } };
}

const root = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const text = (path: string) => readFileSync(root(path), 'utf8');

const compose = parse(text('docker-compose.yml'), { merge: true }) as {
  services: Record<string, Service>;
  networks: Record<string, object | null>;
  volumes: Record<string, null>;
};
const dockerfile = text('Dockerfile');

const service = (name: string): Service => {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`there is no service ${name}`);
  return found;
};

const settings: Record<string, { properties: object }> = {
  ...SETTINGS,
  migrate: { properties: { DATABASE_URL: null } },
};

describe('docker-compose.yml', () => {
  test.each(Object.keys(settings))('sets for %s what it reads and nothing else', (name) => {
    const known = Object.keys(settings[name]?.properties ?? {});
    expect(known).toEqual(expect.arrayContaining(Object.keys(service(name).environment)));
  });

  test('gives what is public no way to Postgres', () => {
    for (const name of ['receiver', 'proxy']) {
      expect(service(name).networks).not.toContain('database');
      expect(JSON.stringify(service(name))).not.toContain('postgresql://');
    }
    for (const network of ['receivers', 'queue', 'database'])
      expect(compose.networks[network]).toEqual({ internal: true });
  });

  test('publishes the proxy, and the console to this machine only', () => {
    const published = Object.entries(compose.services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => [name, port]),
    );
    expect(published).toEqual([
      ['proxy', '${RECEIVER_PORT:-3000}:8080'],
      ['console', '127.0.0.1:${CONSOLE_PORT:-3001}:3001'],
    ]);
  });

  test('asks for health at the port that is listened on, and starts what the build makes', () => {
    for (const name of ['receiver', 'worker', 'deliverer', 'console']) {
      const { environment, healthcheck, command } = service(name);
      const port = environment[`${name.toUpperCase()}_PORT`];
      expect(healthcheck?.test.at(-1)).toMatch(
        new RegExp(`^http://127.0.0.1:${port}/(live|ready)$`),
      );
      expect(command.join(' ')).toBe(`node apps/${name}/dist/main.js`);
      expect(existsSync(root(`apps/${name}/src/main.ts`))).toBe(true);
      expect(dockerfile).toMatch(new RegExp(`^EXPOSE .*\\b${port}\\b`, 'm'));
    }
  });

  test('bounds memory, and everything is read-only, without capabilities and never root', () => {
    for (const [name, one] of Object.entries(compose.services)) {
      expect(one.deploy.resources.limits.memory, name).toBeTruthy();
      expect(one, name).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
    }
    // The image of the proxy and ours say a user themselves.
    for (const name of ['redis', 'postgres'])
      expect(service(name).user, name).toMatch(/^[1-9]\d*:/);
  });

  test('declares every volume and network that is used', () => {
    const named = Object.values(compose.services).flatMap(({ volumes = [] }) =>
      volumes.map((volume) => volume.split(':')[0] ?? '').filter((name) => !name.startsWith('.')),
    );
    expect(new Set(named)).toEqual(new Set(Object.keys(compose.volumes)));
    const networks = Object.values(compose.services).flatMap((one) => one.networks);
    expect(new Set(networks)).toEqual(new Set(Object.keys(compose.networks)));
  });

  test('keeps what was accepted: nothing is evicted, every write is on disk', () => {
    const command = service('redis').command.join(' ');
    for (const option of ['appendonly yes', 'appendfsync always', 'maxmemory-policy noeviction'])
      expect(command).toContain(`--${option}`);
    expect(command).toContain('--no-appendfsync-on-rewrite no');
  });

  test('tests run on the images that it runs', () => {
    expect({ redis: service('redis').image, postgres: service('postgres').image }).toEqual(IMAGES);
  });

  test('.env.example names every variable that is taken from .env', () => {
    const taken = text('docker-compose.yml').matchAll(/(?<!\$)\$\{([A-Z_]+)/g);
    const named = text('.env.example').matchAll(/^([A-Z_]+)=/gm);
    expect(new Set([...named].map((match) => match[1]))).toEqual(
      new Set([...taken].map((match) => match[1])),
    );
  });

  test('the proxy asks the receivers’ port and listens where compose says', () => {
    const proxy = text('deploy/haproxy.cfg');
    expect(proxy.match(/server-template .* receiver:3000$/gm)).toHaveLength(2);
    expect(proxy).toContain('bind :8080');
  });
});

describe('Dockerfile', () => {
  test('leaves no root to run as, and every base to be pinned', () => {
    expect(dockerfile).toMatch(/^USER 1000:1000$/m);
    expect(dockerfile.match(/^FROM (?!\$\{NODE_IMAGE\})/gm)).toBeNull();
    expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:\d+-bookworm-slim$/m);
  });

  test('has Node run as it does where it is measured', () => {
    expect(dockerfile).toContain(`NODE_OPTIONS=${NODE_OPTIONS}\n`);
  });

  test('copies what is there, through a .dockerignore that lets nothing else in', () => {
    const allowed = text('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    expect(text('.dockerignore')).toMatch(/^\*$/m);
    for (const path of allowed.filter((line) => !line.includes('*')))
      expect(existsSync(root(path)), path).toBe(true);
  });
});
