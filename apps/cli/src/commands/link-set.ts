import { updateLink } from '@leadgate/store';
import { Option, type Command } from 'commander';
import { addCommand, collect, type Context, type JsonOption } from '../command.ts';
import { Failure } from '../failure.ts';
import { findLinkNamed } from '../find-link.ts';
import { addGuardOptions, readGuardOptions, type GuardOptions } from '../link-guard-options.ts';
import { answerLink } from '../print/link.ts';
import { wholeNumber } from '../read/whole-number.ts';
import { refused } from '../refused.ts';
import { tellLink } from '../tell-redis.ts';

interface SetOptions extends JsonOption, GuardOptions {
  label?: string;
  mode?: 'strict' | 'lenient';
  requireIdentity?: boolean;
  origin?: string[];
  anyOrigin?: boolean;
  allowServers?: boolean;
  redirectUrl?: string | false;
  linkLimit?: number | false;
  addressLimit?: number | false;
}

/** `link set`: whatever was chosen when the link was created, and its guard. */
export function addLinkSet(link: Command, context: Context, argument: string): void {
  const command = addCommand(link, 'set', {
    summary: 'Change settings of a link; what is not named stays.',
    details: 'Receivers follow at once.',
    examples: [
      'link set 3kTn0Yt1oS7cXUoVqj2a8Q --redirect-url https://lp.example.com/obrigado',
      'link set 3kTn0Yt1oS7cXUoVqj2a8Q --honeypot website --min-fill 3',
      'link set 3kTn0Yt1oS7cXUoVqj2a8Q --captcha-url https://challenges.cloudflare.com/turnstile/v0/siteverify --captcha-secret-file turnstile.txt',
    ],
  })
    .argument('<link>', argument)
    .option('--label <label>', 'what operators see')
    .addOption(
      new Option(
        '--mode <mode>',
        'strict refuses a lead with a bad field; lenient sets it aside',
      ).choices(['strict', 'lenient']),
    )
    .option('--require-identity', 'refuse leads without email and telephone')
    .option('--no-require-identity', 'take them')
    .addOption(
      new Option('--origin <origin>', 'an origin that may post; repeat it to name them all')
        .argParser(collect)
        .conflicts('anyOrigin'),
    )
    .option('--any-origin', 'any origin may post')
    .option('--allow-servers', 'with origins: take posts without an Origin header too')
    .option('--no-allow-servers', 'with origins: refuse them')
    .option('--redirect-url <url>', 'where a plain HTML form goes after its lead was taken')
    .option('--no-redirect-url', 'it goes to a page of thanks')
    .option('--link-limit <n>', 'posts a minute on this link', wholeNumber)
    .option('--no-link-limit', 'the receiver’s default')
    .option('--address-limit <n>', 'posts a minute from one network address', wholeNumber)
    .option('--no-address-limit', 'the receiver’s default');
  addGuardOptions(command)
    .option('--no-honeypot', 'no such field')
    .option('--no-min-fill', 'no such minimum')
    .option('--no-captcha', 'no CAPTCHA; its secret is forgotten')
    .action((named: string, options: SetOptions) => set(context, named, options));
}

async function set(context: Context, named: string, options: SetOptions): Promise<void> {
  const store = context.session.store();
  const { id } = await findLinkNamed(store, named);
  const { label, mode, requireIdentity, origin, allowServers } = options;
  const { redirectUrl, linkLimit, addressLimit } = options;
  const outcome = await updateLink(store, id, {
    ...(label !== undefined && { label }),
    ...(mode !== undefined && { mode }),
    ...(requireIdentity !== undefined && { requireIdentity }),
    ...(origin !== undefined && { origins: origin }),
    ...(options.anyOrigin === true && { origins: [] }),
    ...(allowServers !== undefined && { allowServers }),
    ...(redirectUrl !== undefined && { redirectUrl: redirectUrl || null }),
    ...(linkLimit !== undefined && { linkLimit: linkLimit || null }),
    ...(addressLimit !== undefined && { addressLimit: addressLimit || null }),
    guard: await readGuardOptions(options, context.io.cwd),
  });
  if (outcome.kind === 'invalid') throw refused(outcome.errors);
  if (outcome.kind === 'unknown-link') throw new Failure('The link is gone.');
  await tellLink(context, id);
  answerLink(context, outcome.link, options);
}
