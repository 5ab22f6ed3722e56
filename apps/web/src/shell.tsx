import {
  ActionIcon,
  AppShell,
  Burger,
  Code,
  Group,
  Menu,
  NavLink,
  ScrollArea,
  Select,
  Text,
  Title,
  Tooltip,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type ComponentType, type ReactNode, useEffect } from 'react';
import { useTranslations } from 'use-intl';
import { Link, useLocation } from 'wouter';
import { Icon, type IconName } from './parts/icon.tsx';
import { Nothing, NotYours } from './parts/standing.tsx';
import { Hint } from './parts/styled.tsx';
import { type Role, useSession, type Workspace } from './session.tsx';
import { LOCALES, TIME_ZONE, useLanguage } from './texts.tsx';

/** Where the menu leads. */
export interface Place {
  path: string;
  /** Its icon has the same. */
  name: PlaceName & IconName;
  /** The least role, for all workspaces, that finds something there; without it: everybody's. */
  role?: Role | undefined;
}

type PlaceName = Parameters<ReturnType<typeof useTranslations<'shell'>>>[0];

/** The frame of every page: where one can go, which workspace, and who is here. */
export function Shell({ places, children }: { places: readonly Place[]; children: ReactNode }) {
  const t = useTranslations('shell');
  const [opened, { toggle, close }] = useDisclosure();
  const [path] = useLocation();
  useEffect(close, [path, close]);
  return (
    <AppShell
      layout="alt"
      header={{ height: { base: 48, sm: 0 } }}
      navbar={{ width: 216, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      transitionDuration={120}
      padding={0}
    >
      <a href="#main" className="skip">
        {t('skip')}
      </a>
      <AppShell.Header hiddenFrom="sm">
        <Group h="100%" px="sm" gap="xs">
          <Burger opened={opened} onClick={toggle} size="sm" aria-label={t('menu')} />
          <Mark />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar className="rail" aria-label={t('menu')}>
        <AppShell.Section px="sm" pt="sm" pb={4}>
          <Group justify="space-between" wrap="nowrap">
            <Mark />
            <Burger opened onClick={close} size="sm" hiddenFrom="sm" aria-label={t('close')} />
          </Group>
        </AppShell.Section>
        <Workspaces />
        <AppShell.Section grow component={ScrollArea} px={8}>
          <Places places={places} path={path} />
        </AppShell.Section>
        <Reader />
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <DemoBar />
        {children}
      </AppShell.Main>
    </AppShell>
  );
}

/** Says of a demo that it is one, on every page. */
function DemoBar() {
  const t = useTranslations('shell');
  const { workspace } = useSession();
  if (workspace === null || workspace.demo === null) return null;
  return (
    <Text component="p" size="sm" m={0} px={20} py={6} className="demo">
      {t.rich('demo', { code: (text) => <Code>{text}</Code> })}
    </Text>
  );
}

const Mark = () => (
  <Group gap={8} wrap="nowrap">
    <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden>
      <rect width="20" height="20" rx="5" fill="var(--mantine-primary-color-filled)" />
      <path d="M6 5v10h8M10 5v6h4" stroke="#fff" strokeWidth="1.8" fill="none" />
    </svg>
    <Text fw={650} size="md">
      Leadgate
    </Text>
  </Group>
);

function Workspaces() {
  const t = useTranslations('shell');
  const { workspaces, workspace, look } = useSession();
  if (workspace === null) return null;
  return (
    <AppShell.Section px={8} py={8}>
      <Select
        aria-label={t('workspace')}
        data={workspaces.map(({ id, name }) => ({ value: id, label: name }))}
        value={workspace.id}
        onChange={(id) => id !== null && look(id)}
        allowDeselect={false}
        searchable={workspaces.length > 8}
        checkIconPosition="right"
      />
    </AppShell.Section>
  );
}

function Places({ places, path }: { places: readonly Place[]; path: string }) {
  const t = useTranslations('shell');
  const { may } = useSession();
  return places
    .filter(({ role }) => role === undefined || may(role))
    .map(({ path: to, name }) => {
      const active = to === '/' ? path === to : path === to || path.startsWith(`${to}/`);
      return (
        <NavLink
          key={to}
          component={Link}
          href={to}
          label={t(name)}
          leftSection={<Icon name={name} />}
          active={active}
          aria-current={active ? 'page' : undefined}
          className="place"
        />
      );
    });
}

/** Who is here, in which language, light and zone. */
function Reader() {
  const t = useTranslations('shell');
  const { me, may } = useSession();
  const { locale, choose } = useLanguage();
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme('light') === 'dark';
  return (
    <AppShell.Section px={8} py={8} className="reader">
      <Group gap={4} wrap="nowrap" justify="space-between">
        <Menu position="top-start" width={220} withinPortal>
          <Menu.Target>
            <UnstyledButton className="who" aria-label={t('you', { name: me.name })}>
              <Icon name="account" />
              <Text size="sm" truncate>
                {me.name}
              </Text>
            </UnstyledButton>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Label>{may('operator') ? me.name : t('viewer', { name: me.name })}</Menu.Label>
            <Menu.Item component={Link} href="/account">
              {t('account')}
            </Menu.Item>
            <Menu.Divider />
            {LOCALES.map((one) => (
              <Menu.Item
                key={one}
                onClick={() => choose(one)}
                rightSection={one === locale ? <Icon name="done" /> : null}
              >
                {t(`language.${one}`)}
              </Menu.Item>
            ))}
            <Menu.Divider />
            <form method="post" action="/sign-out">
              <Menu.Item component="button" type="submit">
                {t('signOut')}
              </Menu.Item>
            </form>
          </Menu.Dropdown>
        </Menu>
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={t(dark ? 'light' : 'dark')}
          onClick={() => setColorScheme(dark ? 'light' : 'dark')}
        >
          <Icon name={dark ? 'sun' : 'moon'} />
        </ActionIcon>
      </Group>
      <Hint size="xs" px={6} pt={4}>
        {t('zone', { zone: TIME_ZONE })}
      </Hint>
    </AppShell.Section>
  );
}

/** The head of a page: its name, which the tab has too, and what can be done here. */
export function PageHead({
  title,
  before,
  hint,
  children,
}: {
  title: string;
  before?: ReactNode;
  hint?: ReactNode;
  children?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Leadgate`;
  }, [title]);
  return (
    <header className="page-head">
      <Group gap="xs" wrap="nowrap" miw={0}>
        {before}
        <div className="page-title">
          <Title order={1} size="h1">
            {title}
          </Title>
          {hint && (
            <Hint size="xs" component="div" mt={3}>
              {hint}
            </Hint>
          )}
        </div>
      </Group>
      <Group gap={6} wrap="wrap">
        {children}
      </Group>
    </header>
  );
}

/**
 * A page of the workspace that is looked at, begun anew for another one; without any, the overview says what makes one.
 * `role`: the least that it is for.
 */
export function ofWorkspace(Page: ComponentType<{ workspace: Workspace }>, role?: Role) {
  return function PageOfWorkspace() {
    const t = useTranslations('standing');
    const places = useTranslations('shell');
    const { workspace, may } = useSession();
    if (workspace === null)
      return (
        <>
          <PageHead title={places('overview')} />
          <Nothing icon="overview" title={t('noWorkspace')}>
            {t('noWorkspaceHint')}
          </Nothing>
        </>
      );
    if (role !== undefined && !may(role, workspace.id)) return <NotYours />;
    return <Page key={workspace.id} workspace={workspace} />;
  };
}

/** To the list that a page is of; stands before its title. */
export function Back({ to, label }: { to: string; label: string }) {
  return (
    <Tooltip label={label}>
      <ActionIcon component={Link} href={to} variant="subtle" color="gray" aria-label={label}>
        <Icon name="back" />
      </ActionIcon>
    </Tooltip>
  );
}
