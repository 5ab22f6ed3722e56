import './mantine.css';
import './style.css';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiProblem } from './api.ts';
import { App } from './app.tsx';
import { bringPage } from './pages.ts';
import { loadTexts, Texts } from './texts.tsx';
import { theme } from './theme.ts';

const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';
// Where libraries under Mantine's look for it (get-nonce).
Object.assign(globalThis, { __webpack_nonce__: nonce });

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // What the API refuses, it refuses again.
      retry: (count, error) =>
        !(error instanceof ApiProblem && error.problem.status < 500) && count < 2,
    },
  },
});

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');
// All of it is on its way already: what is drawn without it would be drawn twice.
void Promise.all([loadTexts(), bringPage(location.href)]).then(([texts]) =>
  createRoot(root).render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
        <QueryClientProvider client={queries}>
          <Texts first={texts}>
            <App />
          </Texts>
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  ),
);
