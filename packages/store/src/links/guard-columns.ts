import type { LinkGuardSettings } from './link.ts';

/** The columns of a guard; of what is left out, none. */
export function guardColumns({ honeypot, minFillSeconds, captcha }: Partial<LinkGuardSettings>) {
  return {
    ...(honeypot !== undefined && { honeypot }),
    ...(minFillSeconds !== undefined && {
      minFillMs: minFillSeconds === null ? null : Math.round(minFillSeconds * 1_000),
    }),
    ...(captcha !== undefined && {
      captchaUrl: captcha?.verifyUrl ?? null,
      captchaSecret: captcha?.secret ?? null,
      captchaFail: captcha?.fail ?? 'open',
    }),
  };
}
