import { lazy, Suspense } from 'react';
import { useTranslations } from 'use-intl';
import { Route, Switch } from 'wouter';
import { Nothing, Waiting } from './parts/standing.tsx';
import { SessionProvider } from './session.tsx';
import { Shell } from './shell.tsx';

/** Pages by their address, a chunk each. The console serves each of these addresses as this app. */
const PAGES = [
  ['/leads', lazy(() => import('./pages/leads.tsx'))],
  ['/leads/:leadId', lazy(() => import('./pages/lead.tsx'))],
  ['/links', lazy(() => import('./pages/links.tsx'))],
  ['/links/new', lazy(() => import('./pages/new-link.tsx'))],
  ['/links/:linkId', lazy(() => import('./pages/link.tsx'))],
] as const;

export function App() {
  return (
    <SessionProvider>
      <Shell>
        <Suspense fallback={<Waiting />}>
          <Switch>
            {PAGES.map(([path, Page]) => (
              <Route key={path} path={path} component={Page} />
            ))}
            <Route component={Unknown} />
          </Switch>
        </Suspense>
      </Shell>
    </SessionProvider>
  );
}

function Unknown() {
  const t = useTranslations('standing');
  return <Nothing icon="search" title={t('noPage')} />;
}
