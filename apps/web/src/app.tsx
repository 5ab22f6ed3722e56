import { Suspense } from 'react';
import { useTranslations } from 'use-intl';
import { Route, Switch, useRoute } from 'wouter';
import { PLACES, ROUTES } from './pages.ts';
import { Nothing, Waiting } from './parts/standing.tsx';
import { SessionProvider } from './session.tsx';
import { PageHead, Shell } from './shell.tsx';

export function App() {
  const [isSignIn] = useRoute('/sign-in');
  const door = ROUTES.find(({ path }) => path === '/sign-in');
  if (isSignIn && door !== undefined)
    return (
      <Suspense fallback={<Waiting />}>
        <door.Page />
      </Suspense>
    );
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
  return (
    <>
      <PageHead title={t('noPage')} />
      <Nothing icon="search" title={location.pathname} />
    </>
  );
}
