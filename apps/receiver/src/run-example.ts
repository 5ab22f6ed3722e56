import { spawn } from 'node:child_process';

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
