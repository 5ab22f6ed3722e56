import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const map = readFileSync(root('docs/architecture.md'), 'utf8');

test('the map leads to files that are there, each once', () => {
  const listed = [...map.matchAll(/^\d+\. `([^`]+)`: ./gm)].map(([, path = '']) => path);
  expect(listed.length).toBeGreaterThan(40);
  expect(new Set(listed).size).toBe(listed.length);
  for (const path of listed) expect([path, existsSync(root(path))]).toEqual([path, true]);
});

test('the map names every room, and no room that is gone', () => {
  const rooms = new Set([...map.matchAll(/^\| `([\w/]+)` +\| /gm)].map(([, path = '']) => path));
  const folders = ['apps', 'packages'].flatMap((folder) =>
    readdirSync(root(folder)).map((name) => `${folder}/${name}`),
  );
  expect(rooms).toEqual(
    new Set([...folders, 'bench', 'chaos', 'deploy', 'e2e', 'prisma', 'scripts']),
  );
});
