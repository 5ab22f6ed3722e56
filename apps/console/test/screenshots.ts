import { applyGroup, createField, createLink } from '@leadgate/store';
import { sampleSubmission } from '@leadgate/testkit';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, inject, test } from 'vitest';
import { type PagesUnderTest, pagesUnderTest, TELEPHONE } from './pages-under-test.ts';

/** Ignored by Git; those of the documentation are copied from it. */
const FOLDER = fileURLToPath(new URL('../../../.leadgate/screenshots/', import.meta.url));

const FIRST = [
  'Ana',
  'Bruno',
  'Carla',
  'Diego',
  'Elisa',
  'Fábio',
  'Gabriela',
  'Heitor',
  'Íris',
  'João',
];
const LAST = [
  'Souza',
  'Oliveira',
  'Ferreira',
  'Gonçalves',
  'Ribeiro',
  'Araújo',
  'Nogueira',
  'Prado',
];
const CITIES = [
  ...(['São Paulo SP', 'Recife PE', 'Curitiba PR', 'Belo Horizonte MG'] as const),
  ...(['Florianópolis SC', 'Salvador BA'] as const),
];
const CAMPAIGNS = ['meta lancamento-primavera', 'google marca', 'instagram stories-novembro'];

let pages: PagesUnderTest;
let leadId: string;
let linkId: string;

/** Two weeks of leads, as three campaigns bring them. */
beforeAll(async () => {
  mkdirSync(FOLDER, { recursive: true });
  pages = await pagesUnderTest(inject('chromium'), 'Imobiliária Aurora');
  const { store } = pages.console;
  const furnished = await pages.furnish('Landing page da primavera');
  const { workspaceId } = furnished;
  linkId = furnished.linkId;
  for (const label of ['Feirão de novembro', 'Google Ads: formulário de lead', 'Instagram'])
    await createLink(store, workspaceId, {
      ...{ label, mode: 'lenient', requireIdentity: true, origins: [], allowServers: true },
      ...{ redirectUrl: null, linkLimit: null, addressLimit: null, expiresAt: null },
    });
  await createField(store, workspaceId, {
    ...{ name: 'plano', label: 'Plano de interesse', type: 'select' },
    options: ['ouro', 'prata', 'bronze'],
  });
  const now = Date.now() * 1_000;
  const pick = <T>(list: readonly T[], n: number): T => list[n % list.length] as T;
  const people = Array.from({ length: 90 }, (_, n) => {
    const order = now - n * n * 150_000_000 - n * 60_000_000;
    const [first, last] = [pick(FIRST, n * 7), pick(LAST, n * 5)];
    const [source = '', campaign = ''] = pick(CAMPAIGNS, n).split(' ');
    const city = pick(CITIES, n * 3);
    const plain = `${first}.${last}`
      .normalize('NFD')
      .replace(/[\u0300-\u036f]/g, '')
      .toLowerCase();
    const lead = {
      ...{ name: `${first} ${last}`, email: `${plain}${n}@example.com` },
      telephone: `55119${String(81_000_000 + n * 7_919)}`,
      ...{ city: city.slice(0, -3), state: city.slice(-2), profession: 'Engenheira' },
      ...{ utmSource: source, utmMedium: 'cpc', utmCampaign: campaign },
      customFields: { plano: pick(['ouro', 'prata', 'bronze'], n) },
    };
    return sampleSubmission(n, {
      ...{ workspaceId, linkId, order, stamp: order, lead, body: JSON.stringify(lead) },
      consent: {
        ...{ given: true, text: 'Aceito receber contato sobre o imóvel.', textVersion: '2026-10' },
      },
    });
  });
  const [newest] = people;
  if (newest === undefined) throw new Error('no people');
  leadId = newest.leadId;
  // The same person came before, by another campaign and with less.
  const before = sampleSubmission(500, {
    ...{ workspaceId, linkId, leadId, identities: newest.identities },
    ...{ order: newest.order - 4e11, stamp: newest.order - 4e11 },
    lead: {
      name: 'Ana',
      ...(newest.lead.email && { email: newest.lead.email }),
      utmSource: 'google',
    },
    notes: [{ field: '/fone', code: 'unknown-key' }],
  });
  const items = [before, ...people].map((submission) => ({ submission, replay: false }));
  // One after another, as they came.
  for (const item of items.toReversed()) await applyGroup(store, [item]);
}, 120_000);

afterAll(() => pages.close());

test('every page, in both languages and modes', async () => {
  const shown: [name: string, path: string, ready: string][] = [
    ['leads', '/leads', 'a.row'],
    ['lead', `/leads/${leadId}`, '.lead-history'],
    ['links', '/links', 'a.row'],
    ['new-link', '/links/new', 'form'],
    ...['use', 'settings', 'mapping', 'codes'].map((tab): [string, string, string] => [
      ...([`link-${tab}`, `/links/${linkId}?tab=${tab}`, '[role=tabpanel]:visible'] as const),
    ]),
  ];
  for (const [width, size] of [
    ['desk', { width: 1_280, height: 800 }],
    ['telephone', TELEPHONE],
  ] as const) {
    const { page } = await pages.openAs('administrator', size);
    for (const language of ['en', 'pt'] as const)
      for (const scheme of ['light', 'dark'] as const) {
        await page.goto('/leads');
        await page.evaluate(
          `localStorage.setItem('leadgate.language', '${language}'); localStorage.setItem('mantine-color-scheme-value', '${scheme}')`,
        );
        for (const [name, path, ready] of shown) {
          await page.goto(path);
          await page.locator(ready).first().waitFor();
          await page.waitForLoadState('networkidle');
          await page.screenshot({ path: `${FOLDER}${name}-${width}-${language}-${scheme}.png` });
        }
      }
  }
}, 300_000);
