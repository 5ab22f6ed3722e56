import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import type { LinkChanges } from '@leadgate/store';
import { InvalidArgumentError, Option, type Command } from 'commander';

export interface GuardOptions {
  honeypot?: string | false;
  minFill?: number | false;
  captcha?: boolean;
  captchaUrl?: string;
  captchaSecretFile?: string;
  captchaFail?: 'open' | 'closed';
}

/** The options of what a link holds posts back by. */
export function addGuardOptions(command: Command): Command {
  return command
    .option('--honeypot <field>', 'hold posts that fill in this field, which no person sees')
    .option(
      '--min-fill <seconds>',
      'hold posts whose form was sent sooner after the page opened',
      seconds,
    )
    .option('--captcha-url <url>', 'check the CAPTCHA here: of Turnstile, hCaptcha or reCAPTCHA')
    .option('--captcha-secret-file <file>', 'file with the CAPTCHA’s secret; - for standard input')
    .addOption(
      new Option(
        '--captcha-fail <way>',
        'where the CAPTCHA cannot be checked: open takes the lead, closed holds it (default: open)',
      ).choices(['open', 'closed']),
    );
}

/** What the options ask for; what they do not name is left out. */
export async function readGuardOptions(
  options: GuardOptions,
  cwd: string,
): Promise<NonNullable<LinkChanges['guard']>> {
  const { honeypot, minFill, captchaUrl, captchaSecretFile, captchaFail } = options;
  const secret =
    captchaSecretFile === undefined ? undefined : (await readSecret(captchaSecretFile, cwd)).trim();
  const captcha = {
    ...(captchaUrl !== undefined && { verifyUrl: captchaUrl }),
    ...(secret !== undefined && { secret }),
    ...(captchaFail !== undefined && { fail: captchaFail }),
  };
  return {
    ...(honeypot !== undefined && { honeypot: honeypot || null }),
    ...(minFill !== undefined && { minFillSeconds: minFill || null }),
    ...(options.captcha === false && { captcha: null }),
    ...(Object.keys(captcha).length > 0 && { captcha }),
  };
}

// From a file: what stands on a command line is seen by all of the machine, and kept by the shell.
function readSecret(file: string, cwd: string): Promise<string> {
  return file === '-' ? readText(process.stdin) : readFile(resolve(cwd, file), 'utf8');
}

function seconds(text: string): number {
  if (!/^\d{1,3}(\.\d{1,3})?$/.test(text))
    throw new InvalidArgumentError('Write seconds: 3 or 2.5.');
  return Number(text);
}
