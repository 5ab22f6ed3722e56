import { Alert, Button, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type SyntheticEvent, useEffect } from 'react';
import { useTranslations } from 'use-intl';
import { LOCALES, useLanguage } from '../texts.tsx';

/** What a try came to that did not let in; the API's document is for who is signed in, and has none of it. */
type Outcome =
  | { kind: 'key-needed'; options: object | null; orCode: boolean }
  | { kind: 'code-needed' | 'refused' }
  | { kind: 'slowed'; retryAfterSeconds: number }
  | { kind: 'invalid'; errors: { detail: string }[] };

/** Null: it let in, and the start page comes. Throws if there is no such answer. */
async function ask(path: string, fields: URLSearchParams): Promise<Outcome | null> {
  const response = await fetch(path, { method: 'POST', body: fields, redirect: 'manual' });
  if (response.type === 'opaqueredirect') {
    location.assign('/');
    return null;
  }
  const answer = (await response.json()) as Outcome | { title: string };
  if ('kind' in answer) return answer;
  throw new Error(answer.title);
}

/** Name and password, and what else is asked for; the very first operator has a one-time code. */
export default function SignInPage() {
  const t = useTranslations('signIn');
  useEffect(() => {
    document.title = `${t('title')} · Leadgate`;
  }, [t]);
  return (
    <main className="door">
      <Door first={leadgate.answered.first === true} />
      <Languages />
    </main>
  );
}

function Door({ first }: { first: boolean }) {
  const t = useTranslations('signIn');
  const tried = useMutation({
    mutationFn: ({ path, fields }: { path: string; fields: URLSearchParams }) => ask(path, fields),
  });
  const outcome = tried.data ?? null;
  const key = outcome?.kind === 'key-needed' ? outcome : null;
  const asksCode = outcome?.kind === 'code-needed' || key?.orCode === true;
  const submit = (event: SyntheticEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new URLSearchParams();
    for (const [name, value] of new FormData(event.currentTarget))
      if (typeof value === 'string') fields.append(name, value);
    tried.mutate({ path: '/sign-in', fields });
  };
  return (
    <>
      <Title order={1}>{first ? t('welcome') : 'Leadgate'}</Title>
      {first && <Text size="sm">{t('firstHint')}</Text>}
      {(outcome !== null || tried.error !== null) && (
        <Alert color={asksCode || key !== null ? 'yellow' : 'red'} role="alert">
          {outcome === null ? t('notReached') : <Said outcome={outcome} />}
        </Alert>
      )}
      {key?.options != null && (
        <SecurityKey
          options={key.options}
          tell={(text) =>
            tried.mutate({ path: '/sign-in/key', fields: new URLSearchParams({ answer: text }) })
          }
        />
      )}
      {(key?.options == null || asksCode) && (
        <form onSubmit={submit}>
          <Stack gap="sm">
            {first && (
              <TextInput
                id="code"
                name="code"
                label={t('code')}
                required
                autoComplete="one-time-code"
                spellCheck={false}
                data-autofocus
              />
            )}
            <TextInput
              {...{ id: 'name', name: 'name', label: t('name'), spellCheck: false }}
              required
              autoComplete="username"
            />
            <TextInput
              {...{ id: 'password', name: 'password', type: 'password', label: t('password') }}
              required
              {...(first && { minLength: 10 })}
              autoComplete={first ? 'new-password' : 'current-password'}
            />
            {asksCode && (
              <TextInput
                {...{ id: 'second-factor', name: 'secondFactor', label: t('secondFactor') }}
                required
                inputMode="numeric"
                autoComplete="one-time-code"
              />
            )}
            <Button type="submit" size="sm" loading={tried.isPending}>
              {t(first ? 'begin' : 'enter')}
            </Button>
          </Stack>
        </form>
      )}
    </>
  );
}

function Said({ outcome }: { outcome: Outcome }) {
  const t = useTranslations('signIn');
  switch (outcome.kind) {
    case 'key-needed':
      return t(
        outcome.options !== null ? 'key' : outcome.orCode ? 'keyElsewhereCode' : 'keyElsewhere',
      );
    case 'code-needed':
      return t('codeNeeded');
    case 'refused':
      return t('refused');
    case 'slowed':
      return t('slowed', { seconds: outcome.retryAfterSeconds });
    case 'invalid':
      return outcome.errors.map(({ detail }) => detail).join(' ');
  }
}

/** Asks a security key, by the browser. */
function SecurityKey({ options, tell }: { options: object; tell: (answer: string) => void }) {
  const t = useTranslations('signIn');
  const asked = useMutation({
    async mutationFn() {
      const { startAuthentication } = await import('@simplewebauthn/browser');
      // The console says of it no more than that it is what the browser takes.
      const optionsJSON = options as Parameters<typeof startAuthentication>[0]['optionsJSON'];
      return JSON.stringify(await startAuthentication({ optionsJSON }));
    },
    onSuccess: tell,
  });
  return (
    <div id="sign-in-key">
      <Button size="sm" fullWidth loading={asked.isPending} onClick={() => asked.mutate()}>
        {t('useKey')}
      </Button>
      <Text size="sm" role="status" mt="xs">
        {asked.isPending && t('touch')}
        {asked.error !== null && t('keyFailed', { message: asked.error.message })}
      </Text>
    </div>
  );
}

function Languages() {
  const t = useTranslations('shell');
  const { locale, choose } = useLanguage();
  return (
    <Group gap={4} justify="center">
      {LOCALES.map((one) => (
        <Button
          key={one}
          variant="subtle"
          color="gray"
          aria-pressed={one === locale}
          onClick={() => choose(one)}
        >
          {t(`language.${one}`)}
        </Button>
      ))}
    </Group>
  );
}
