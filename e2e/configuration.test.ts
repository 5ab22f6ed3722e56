import { expect, test } from 'vitest';
import { SETTINGS } from './settings.ts';

interface Setting {
  description?: string;
  default?: unknown;
}

/** Every setting of a process as rows of a table: what reads the environment is what is documented. */
function rows(
  process: string,
  { properties, required = [] }: { properties: object; required?: string[] },
): string {
  const lines = Object.entries(properties).map(
    ([variable, { description = '', default: value }]: [string, Setting]) =>
      `| \`${variable}\` | ${description} | ${required.includes(variable) ? shown(value) : 'none'} |`,
  );
  const title = process.replace(/^./, (letter) => letter.toUpperCase());
  return `## ${title}\n\n| variable | what it is | default |\n|---|---|---|\n${lines.join('\n')}\n`;
}

function shown(value: unknown): string {
  if (value === undefined) return 'required';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : `\`${value.join(',')}\``;
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

const INTRODUCTION = `# Configuration

Everything is set by environment variables, read once at the start. A wrong one ends the process with a
sentence that says what would be right. This page is made from the schemas that read them
(\`npm test -- e2e/configuration.test.ts -u\`), and a test holds it to them.
`;

test('docs/configuration.md names every setting, as it is read', async () => {
  const page = [
    INTRODUCTION,
    ...Object.entries(SETTINGS).map(([name, schema]) => rows(name, schema)),
  ].join('\n');
  await expect(page).toMatchFileSnapshot('../docs/configuration.md');
});
