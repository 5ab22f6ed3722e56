import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';

const dist = new URL('../dist/', import.meta.url);
const FIRST_LOAD_BYTES = 250 * 1_024;

/** Files that a built file loads before it can show anything. */
function imports(name: string): string[] {
  const text = readFileSync(new URL(`assets/${name}`, dist), 'utf8');
  return [...text.matchAll(/(?:from|import)"\.\/([\w.-]+\.js)"/g)].map(([, one = '']) => one);
}

test('what a page loads first is 250 KB at most, packed: the app, one language and any one page', () => {
  const assets = readdirSync(new URL('assets/', dist));
  const packed = (name: string): number => {
    const gz = new URL(`assets/${name}.gz`, dist);
    return assets.includes(`${name}.gz`)
      ? statSync(gz).size
      : statSync(new URL(`assets/${name}`, dist)).size;
  };
  const index = readFileSync(new URL('index.html', dist), 'utf8');
  const shell = [...index.matchAll(/(?:src|href)="\/assets\/([^"]+)"/g)].map(
    ([, name = '']) => name,
  );
  const pages = assets.filter((name) => name.endsWith('.js') && !shell.includes(name));
  expect(pages.length).toBeGreaterThan(3);
  const languages = pages.filter((name) => /^(en|pt)-/.test(name));
  for (const page of pages) {
    const loaded = new Set([...shell, ...languages.slice(0, 1), page]);
    for (const name of loaded)
      if (name.endsWith('.js')) for (const one of imports(name)) loaded.add(one);
    const bytes = [...loaded].reduce((sum, name) => sum + packed(name), 0);
    expect([page, bytes < FIRST_LOAD_BYTES]).toEqual([page, true]);
  }
});

test('each component of Mantine that a page uses has its style', () => {
  const folder = new URL('../src/', import.meta.url);
  const read = (name: string) => readFileSync(new URL(name, folder), 'utf8');
  const used = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.tsx'))
    .flatMap((name) => [...read(name).matchAll(/import \{([^}]*)\} from '@mantine\/core'/g)])
    .flatMap(([, names = '']) => names.split(',').map((name) => name.trim()));
  const styles = new URL('../../../node_modules/@mantine/core/styles/', import.meta.url);
  const styled = used.filter((name) => name !== '' && existsSync(new URL(`${name}.css`, styles)));
  const loaded = [...read('mantine.css').matchAll(/styles\/([\w-]+)\.css/g)].map(
    ([, name]) => name,
  );
  expect(styled.filter((name) => !loaded.includes(name))).toEqual([]);
});
