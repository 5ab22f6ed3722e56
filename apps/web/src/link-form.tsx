import {
  Checkbox,
  Fieldset,
  Group,
  NumberInput,
  PasswordInput,
  SegmentedControl,
  Select,
  Stack,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useTranslations } from 'use-intl';
import type { Answer, Body } from './api.ts';
import { fieldsOf } from './parts/typed.ts';

export type Link = Answer<'/api/links/{linkId}', 'get'>;
type Changes = Body<'/api/links/{linkId}', 'patch'>;

/** What stands in the form: texts as they are typed. Without a link: of one of which nothing was chosen. */
export const formOf = (link: Link | null) => ({
  label: link?.label ?? '',
  lenient: link?.mode === 'lenient',
  requireIdentity: link?.requireIdentity ?? false,
  origins: link?.origins.join('\n') ?? '',
  allowServers: link?.allowServers ?? true,
  redirectUrl: link?.redirectUrl ?? '',
  linkLimit: link?.linkLimit ?? '',
  addressLimit: link?.addressLimit ?? '',
  honeypot: link?.guard.honeypot ?? '',
  minFillSeconds: link?.guard.minFillSeconds ?? '',
  captchaUrl: link?.guard.captcha?.verifyUrl ?? null,
  /** Never one that was kept. */
  captchaSecret: '',
  captchaClosed: link?.guard.captcha?.fail === 'closed',
  /** In the reader's zone. */
  lastDay: link?.expiresAt == null ? '' : dayBefore(new Date(link.expiresAt)),
});
type LinkForm = ReturnType<typeof formOf>;

const numberOf = (typed: number | string): number | null => (typed === '' ? null : Number(typed));

/** What was typed, as settings of a link. */
export function settingsOf(form: LinkForm): Changes {
  const secret = form.captchaSecret.trim();
  return {
    label: form.label.trim(),
    mode: form.lenient ? 'lenient' : 'strict',
    requireIdentity: form.requireIdentity,
    origins: form.origins.split(/\s+/).filter((origin) => origin !== ''),
    allowServers: form.allowServers,
    redirectUrl: form.redirectUrl.trim() || null,
    linkLimit: numberOf(form.linkLimit),
    addressLimit: numberOf(form.addressLimit),
    guard: {
      honeypot: form.honeypot.trim() || null,
      minFillSeconds: numberOf(form.minFillSeconds),
      captcha:
        form.captchaUrl === null
          ? null
          : {
              verifyUrl: form.captchaUrl,
              fail: form.captchaClosed ? 'closed' : 'open',
              ...(secret !== '' && { secret }),
            },
    },
  };
}

/** The link ends when its last day is over. */
export function endOf({ lastDay }: LinkForm): string | null {
  if (lastDay === '') return null;
  const end = new Date(`${lastDay}T00:00`);
  end.setDate(end.getDate() + 1);
  return end.toISOString();
}

function dayBefore(end: Date): string {
  const last = new Date(end.getTime() - 1);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${last.getFullYear()}-${two(last.getMonth() + 1)}-${two(last.getDate())}`;
}

/** Services that receivers ask without being told to. */
const CAPTCHAS = [
  { value: 'https://challenges.cloudflare.com/turnstile/v0/siteverify', label: 'Turnstile' },
  { value: 'https://api.hcaptcha.com/siteverify', label: 'hCaptcha' },
  { value: 'https://www.google.com/recaptcha/api/siteverify', label: 'reCAPTCHA' },
];

/** The fields of the form, each with what the API says of it. */
export function LinkFields({
  form,
  set,
  error,
  hasSecret,
}: {
  form: LinkForm;
  set: (form: LinkForm) => void;
  error: Error | null;
  hasSecret: boolean;
}) {
  const t = useTranslations('link');
  const { fault, text, value, box } = fieldsOf(form, set, error);
  const { captchaUrl } = form;
  const isKnown = captchaUrl === null || CAPTCHAS.some((one) => one.value === captchaUrl);
  return (
    <Stack gap="md">
      <TextInput label={t('label')} placeholder={t('labelExample')} {...text('label')} />
      <SegmentedControl
        aria-label={t('mode')}
        data={[
          { value: 'strict', label: t('strict') },
          { value: 'lenient', label: t('lenient') },
        ]}
        value={form.lenient ? 'lenient' : 'strict'}
        onChange={(mode) => set({ ...form, lenient: mode === 'lenient' })}
      />
      <Checkbox label={t('requireIdentity')} {...box('requireIdentity')} />
      <Fieldset legend={t('from')} className="fields">
        <Textarea
          label={t('origins')}
          description={t('originsHint')}
          placeholder="https://lp.example.com"
          autosize
          minRows={2}
          spellCheck={false}
          {...text('origins')}
        />
        <Checkbox label={t('allowServers')} {...box('allowServers')} />
        <TextInput
          label={t('redirectUrl')}
          placeholder="https://lp.example.com/obrigado"
          spellCheck={false}
          {...text('redirectUrl')}
        />
      </Fieldset>
      <Fieldset legend={t('spam')} className="fields">
        <Group grow align="flex-start" gap="sm">
          <TextInput
            label={t('honeypot')}
            description={t('honeypotHint')}
            spellCheck={false}
            {...text('honeypot')}
            error={fault('/guard/honeypot')}
          />
          <NumberInput
            label={t('minFillSeconds')}
            description={t('minFillHint')}
            min={0}
            {...value('minFillSeconds')}
            error={fault('/guard/minFillSeconds')}
          />
        </Group>
        <Group grow align="flex-start" gap="sm">
          <Select
            label={t('captcha')}
            placeholder={t('noCaptcha')}
            clearable
            data={isKnown ? CAPTCHAS : [...CAPTCHAS, { value: captchaUrl, label: captchaUrl }]}
            {...value('captchaUrl')}
            error={fault('/guard/captcha')}
          />
          {captchaUrl !== null && (
            <PasswordInput
              label={t('captchaSecret')}
              placeholder={hasSecret ? t('secretStays') : ''}
              autoComplete="new-password"
              visibilityToggleButtonProps={{ tabIndex: 0, 'aria-label': t('showSecret') }}
              {...text('captchaSecret')}
            />
          )}
        </Group>
        {captchaUrl !== null && <Checkbox label={t('captchaClosed')} {...box('captchaClosed')} />}
      </Fieldset>
      <Fieldset legend={t('limits')} className="fields">
        <Group grow align="flex-start" gap="sm">
          <NumberInput label={t('linkLimit')} min={1} {...value('linkLimit')} />
          <NumberInput label={t('addressLimit')} min={1} {...value('addressLimit')} />
        </Group>
        <TextInput
          type="date"
          label={t('lastDay')}
          description={t('lastDayHint')}
          {...text('lastDay')}
          error={fault('/expiresAt') ?? fault('/at')}
        />
      </Fieldset>
    </Stack>
  );
}
