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
import { typed, ticked } from './parts/typed.ts';

export type Link = Answer<'/api/links/{linkId}', 'get'>;
type Changes = Body<'/api/links/{linkId}', 'patch'>;

/** What stands in the form: texts as they are typed. Never a secret that was kept. */
interface LinkForm {
  label: string;
  lenient: boolean;
  requireIdentity: boolean;
  origins: string;
  allowServers: boolean;
  redirectUrl: string;
  linkLimit: number | string;
  addressLimit: number | string;
  honeypot: string;
  minFillSeconds: number | string;
  captchaUrl: string | null;
  captchaSecret: string;
  captchaClosed: boolean;
  /** The last day, in the reader's zone. */
  lastDay: string;
}

const EMPTY: LinkForm = {
  ...{ label: '', lenient: false, requireIdentity: false, origins: '', allowServers: true },
  ...{ redirectUrl: '', linkLimit: '', addressLimit: '', honeypot: '', minFillSeconds: '' },
  ...{ captchaUrl: null, captchaSecret: '', captchaClosed: false, lastDay: '' },
};

/** The form of a link as it is; without one, of a link of which nothing was chosen. */
export function formOf(link: Link | null): LinkForm {
  if (link === null) return EMPTY;
  const { guard } = link;
  return {
    label: link.label,
    lenient: link.mode === 'lenient',
    requireIdentity: link.requireIdentity,
    origins: link.origins.join('\n'),
    allowServers: link.allowServers,
    redirectUrl: link.redirectUrl ?? '',
    linkLimit: link.linkLimit ?? '',
    addressLimit: link.addressLimit ?? '',
    honeypot: guard.honeypot ?? '',
    minFillSeconds: guard.minFillSeconds ?? '',
    captchaUrl: guard.captcha?.verifyUrl ?? null,
    captchaSecret: '',
    captchaClosed: guard.captcha?.fail === 'closed',
    lastDay: link.expiresAt === null ? '' : dayBefore(new Date(link.expiresAt)),
  };
}

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
  change,
  fault,
  hasSecret,
}: {
  form: LinkForm;
  change: (changes: Partial<LinkForm>) => void;
  /** What is wrong with a member of the settings. */
  fault: (pointer: string) => string | undefined;
  hasSecret: boolean;
}) {
  const t = useTranslations('link');
  const captchas = CAPTCHAS.some(({ value }) => value === form.captchaUrl)
    ? CAPTCHAS
    : [
        ...CAPTCHAS,
        ...(form.captchaUrl === null ? [] : [{ value: form.captchaUrl, label: form.captchaUrl }]),
      ];
  return (
    <Stack gap="md">
      <TextInput
        label={t('label')}
        placeholder={t('labelExample')}
        error={fault('/label')}
        {...typed(form.label, (label) => change({ label }))}
      />
      <SegmentedControl
        aria-label={t('mode')}
        data={[
          { value: 'strict', label: t('strict') },
          { value: 'lenient', label: t('lenient') },
        ]}
        value={form.lenient ? 'lenient' : 'strict'}
        onChange={(mode) => change({ lenient: mode === 'lenient' })}
      />
      <Checkbox
        label={t('requireIdentity')}
        {...ticked(form.requireIdentity, (requireIdentity) => change({ requireIdentity }))}
      />
      <Fieldset legend={t('from')} className="fields">
        <Textarea
          label={t('origins')}
          description={t('originsHint')}
          placeholder="https://lp.example.com"
          autosize
          minRows={2}
          spellCheck={false}
          error={fault('/origins')}
          {...typed(form.origins, (origins) => change({ origins }))}
        />
        <Checkbox
          label={t('allowServers')}
          {...ticked(form.allowServers, (allowServers) => change({ allowServers }))}
        />
        <TextInput
          label={t('redirectUrl')}
          placeholder="https://lp.example.com/obrigado"
          spellCheck={false}
          error={fault('/redirectUrl')}
          {...typed(form.redirectUrl, (redirectUrl) => change({ redirectUrl }))}
        />
      </Fieldset>
      <Fieldset legend={t('spam')} className="fields">
        <Group grow align="flex-start" gap="sm">
          <TextInput
            label={t('honeypot')}
            description={t('honeypotHint')}
            spellCheck={false}
            error={fault('/guard/honeypot')}
            {...typed(form.honeypot, (honeypot) => change({ honeypot }))}
          />
          <NumberInput
            label={t('minFillSeconds')}
            description={t('minFillHint')}
            min={0}
            value={form.minFillSeconds}
            error={fault('/guard/minFillSeconds')}
            onChange={(minFillSeconds) => change({ minFillSeconds })}
          />
        </Group>
        <Group grow align="flex-start" gap="sm">
          <Select
            label={t('captcha')}
            placeholder={t('noCaptcha')}
            clearable
            data={captchas}
            value={form.captchaUrl}
            error={fault('/guard/captcha')}
            onChange={(captchaUrl) => change({ captchaUrl })}
          />
          {form.captchaUrl !== null && (
            <PasswordInput
              label={t('captchaSecret')}
              placeholder={hasSecret ? t('secretStays') : ''}
              autoComplete="new-password"
              visibilityToggleButtonProps={{ tabIndex: 0, 'aria-label': t('showSecret') }}
              {...typed(form.captchaSecret, (captchaSecret) => change({ captchaSecret }))}
            />
          )}
        </Group>
        {form.captchaUrl !== null && (
          <Checkbox
            label={t('captchaClosed')}
            {...ticked(form.captchaClosed, (captchaClosed) => change({ captchaClosed }))}
          />
        )}
      </Fieldset>
      <Fieldset legend={t('limits')} className="fields">
        <Group grow align="flex-start" gap="sm">
          <NumberInput
            label={t('linkLimit')}
            min={1}
            value={form.linkLimit}
            error={fault('/linkLimit')}
            onChange={(linkLimit) => change({ linkLimit })}
          />
          <NumberInput
            label={t('addressLimit')}
            min={1}
            value={form.addressLimit}
            error={fault('/addressLimit')}
            onChange={(addressLimit) => change({ addressLimit })}
          />
        </Group>
        <TextInput
          type="date"
          label={t('lastDay')}
          description={t('lastDayHint')}
          error={fault('/expiresAt') ?? fault('/at')}
          {...typed(form.lastDay, (lastDay) => change({ lastDay }))}
        />
      </Fieldset>
    </Stack>
  );
}
