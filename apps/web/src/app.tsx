import { Suspense } from 'react';
import { useTranslations } from 'use-intl';
import { Route, Switch } from 'wouter';
import { PLACES, ROUTES } from './pages.ts';
import { Nothing, Waiting } from './parts/standing.tsx';
import { SessionProvider } from './session.tsx';
import { Shell } from './shell.tsx';

export function App() {
  return (
    <SessionProvider>
      <Shell places={PLACES}>
        <Suspense fallback={<Waiting />}>
          <Switch>
            {ROUTES.map(({ path, Page }) => (
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
