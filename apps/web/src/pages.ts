import { type ComponentType, createElement, lazy, useState } from 'react';
import type { Place } from './shell.tsx';

/** A page by its address. */
interface Page {
  path: string;
  load: () => Promise<{ default: ComponentType }>;
  /** Its name in the menu. */
  place?: Place['name'];
  role?: Place['role'];
}

/** Every page, in the order of the menu; a chunk each. The console serves each other address as this app. */
const PAGES: readonly Page[] = [
  { path: '/', load: () => import('./pages/overview.tsx'), place: 'overview' },
  { path: '/leads', load: () => import('./pages/leads.tsx'), place: 'leads' },
  { path: '/leads/:leadId', load: () => import('./pages/lead.tsx') },
  { path: '/links', load: () => import('./pages/links.tsx'), place: 'links' },
  { path: '/links/new', load: () => import('./pages/new-link.tsx') },
  { path: '/links/:linkId', load: () => import('./pages/link.tsx') },
  { path: '/inbox', load: () => import('./pages/inbox.tsx'), place: 'inbox' },
  { path: '/inbox/refused', load: () => import('./pages/inbox-refused.tsx') },
  { path: '/inbox/held', load: () => import('./pages/inbox-held.tsx') },
  { path: '/inbox/failed', load: () => import('./pages/inbox-failed.tsx') },
  { path: '/inbox/duplicates', load: () => import('./pages/inbox-duplicates.tsx') },
  { path: '/deliveries', load: () => import('./pages/deliveries.tsx'), place: 'deliveries' },
  { path: '/deliveries/new', load: () => import('./pages/new-endpoint.tsx') },
  { path: '/deliveries/:endpointId', load: () => import('./pages/endpoint.tsx') },
  { path: '/imports', load: () => import('./pages/imports.tsx'), place: 'imports' },
  { path: '/imports/new', load: () => import('./pages/import.tsx') },
  { path: '/imports/replay', load: () => import('./pages/replay.tsx') },
  { path: '/imports/read-again', load: () => import('./pages/read-again.tsx') },
  { path: '/queue', load: () => import('./pages/queue.tsx'), place: 'queue' },
  {
    path: '/audit',
    load: () => import('./pages/audit.tsx'),
    place: 'audit',
    role: 'administrator',
  },
  { path: '/settings', load: () => import('./pages/settings.tsx'), place: 'settings' },
  { path: '/account', load: () => import('./pages/account.tsx') },
  { path: '/sign-in', load: () => import('./pages/sign-in.tsx') },
];

/** What the app shows at an address. */
export const ROUTES = PAGES.map(({ path, load }) => {
  let There: ComponentType | null = null;
  const bring = async () => {
    const module = await load();
    There = module.default;
    return module;
  };
  const Later = lazy(bring);
  // React would show that a page is on its way, and then hold it back for the rest of 300 ms.
  const Page = () => createElement(useState(() => There ?? Later)[0]);
  return { path, Page, bring, isThere: () => There !== null };
});

/** Brings the code of the page of an address, before it is shown; null if it is there. */
export function bringPage(address: string): Promise<unknown> | null {
  const { pathname } = new URL(address, location.origin);
  const route = ROUTES.find(({ path }) =>
    new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`).test(pathname),
  );
  return route === undefined || route.isThere() ? null : route.bring();
}

/** What the menu leads to. */
export const PLACES: readonly Place[] = PAGES.flatMap(({ path, place: name, role }) =>
  name === undefined ? [] : [{ path, name, role }],
);
