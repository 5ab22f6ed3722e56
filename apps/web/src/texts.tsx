import { createContext, type ReactNode, use, useEffect, useState } from 'react';
import { IntlProvider } from 'use-intl';
import type en from './messages/en.json';

declare module 'use-intl' {
  interface AppConfig {
    Locale: (typeof TAGS)[Locale];
    Messages: typeof en;
  }
}

export const LOCALES = ['en', 'pt'] as const;
type Locale = (typeof LOCALES)[number];

/** A chunk each: a reader loads the texts of one language. */
const MESSAGES: Record<Locale, () => Promise<{ default: typeof en }>> = {
  en: () => import('./messages/en.json'),
  pt: () => import('./messages/pt.json'),
};

/** BCP 47 tags, by which numbers and dates are written. */
const TAGS = { en: 'en-GB', pt: 'pt-BR' } as const satisfies Record<Locale, string>;

const KEPT = 'leadgate.language';

interface LoadedTexts {
  locale: Locale;
  messages: typeof en;
}

const Language = createContext<{ locale: Locale; choose: (locale: Locale) => void }>({
  locale: 'en',
  choose: () => {},
});

/** The language of the pages, and what changes it. */
export const useLanguage = () => use(Language);

/** The reader's own zone: all times are shown in it. */
export const TIME_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

function firstLocale(): Locale {
  const wanted = [localStorage.getItem(KEPT) ?? '', ...navigator.languages];
  return wanted.map((tag) => LOCALES.find((one) => tag.startsWith(one))).find(Boolean) ?? 'en';
}

/** Brings the texts of the reader's language, without which nothing is shown. */
export async function loadTexts(locale = firstLocale()): Promise<LoadedTexts> {
  const { default: messages } = await MESSAGES[locale]();
  return { locale, messages };
}

/** Gives all below it the texts of the reader's language. */
export function Texts({ first, children }: { first: LoadedTexts; children: ReactNode }) {
  const [loaded, setLoaded] = useState(first);
  useEffect(() => {
    document.documentElement.lang = TAGS[loaded.locale];
  }, [loaded]);
  const choose = (wanted: Locale) => {
    localStorage.setItem(KEPT, wanted);
    void loadTexts(wanted).then(setLoaded);
  };
  return (
    <Language value={{ locale: loaded.locale, choose }}>
      <IntlProvider
        locale={TAGS[loaded.locale]}
        messages={loaded.messages}
        timeZone={TIME_ZONE}
        onError={(error) => {
          throw error;
        }}
      >
        {children}
      </IntlProvider>
    </Language>
  );
}
