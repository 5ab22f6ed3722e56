import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { CODE } from './receiver.ts';

/** A code block of docs/integrate.md. */
export interface Example {
  language: string;
  /** The heading that it stands under. */
  heading: string;
  text: string;
}

/** The examples of docs/integrate.md, in their order, aimed at a receiver and its one link. */
export function readExamples(receiverUrl: string): Example[] {
  const page = readFileSync(new URL('../../../docs/integrate.md', import.meta.url), 'utf8');
  const examples: Example[] = [];
  let heading = '';
  for (const [, title, language, text] of page.matchAll(
    /^#+ (.+)$|^```([\w-]+)\n([\s\S]*?)^```$/gm,
  )) {
    if (title !== undefined) heading = title;
    else if (language !== undefined && text !== undefined)
      examples.push({ language, heading, text: aimed(text, receiverUrl) });
  }
  return examples;
}

/** The only example in a language. */
export function exampleIn(receiverUrl: string, language: string): string {
  const [example, ...others] = readExamples(receiverUrl).filter((one) => one.language === language);
  if (example === undefined || others.length > 0)
    throw new Error(`docs/integrate.md has ${others.length + 1} examples in ${language}`);
  return example.text;
}

function aimed(text: string, receiverUrl: string): string {
  return text.replaceAll('https://leads.example.com', receiverUrl).replaceAll('CODE', CODE);
}

/** What every example sends. */
export const EXAMPLE_LEAD = {
  name: 'Ana Souza',
  email: 'ana@example.com',
  telephone: '11987654321',
  customFields: { plano: 'ouro' },
};

/** Runs a program with a text on its standard input, and says how it ended. */
export function runExample(
  program: string,
  args: readonly string[],
  text: string,
): Promise<{ status: number | null; out: string; err: string }> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const ran = { out: '', err: '' };
  child.stdout.on('data', (chunk) => (ran.out += String(chunk)));
  child.stderr.on('data', (chunk) => (ran.err += String(chunk)));
  child.stdin.end(text);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, ...ran }));
  });
}
