import { Suspense } from 'react';
import { useTranslations } from 'use-intl';
import { type AroundNavHandler, Route, Router, Switch, useRoute } from 'wouter';
import { bringPage, PLACES, ROUTES } from './pages.ts';
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
    <Router aroundNav={goWhenThere}>
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
    </Router>
  );
}

/** Where the reader wants to go, as long as its code is on its way. */
let wanted: string | null = null;

/** The page before stays until the next one's code is there. */
const goWhenThere: AroundNavHandler = (navigate, to, options) => {
  const coming = bringPage(to);
  wanted = coming === null ? null : to;
  if (coming === null) return navigate(to, options);
  coming.then(
    () => wanted === to && navigate(to, options),
    // A newer console has other files: its own page names them.
    () => location.assign(to),
  );
};

function Unknown() {
  const t = useTranslations('standing');
  return (
    <>
      <PageHead title={t('noPage')} />
      <Nothing icon="search" title={location.pathname} />
    </>
  );
}
