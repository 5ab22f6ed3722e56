import { Keyring } from '@leadgate/boot';
import { LEAD_EVENTS } from '@leadgate/contract';
import { newSecret } from '@leadgate/delivery';
import {
  applyGroup,
  createEndpoint,
  createField,
  createLink,
  listEndpoints,
  recordTries,
  setEndpointState,
} from '@leadgate/store';
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
let endpointId: string;

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
  await furnishEndpoints(workspaceId);
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
  await deliver(workspaceId, people);
}, 120_000);

/** One that takes what it is sent, one that does not, and a paused one. */
async function furnishEndpoints(workspaceId: string): Promise<void> {
  const { store } = pages.console;
  for (const [name, url, perSecond] of [
    ['CRM da imobiliária', 'https://crm.example.com/hooks/leads', 5],
    ['Planilha do corretor', 'https://planilha.example.com/entrada', null],
    ['WhatsApp', 'https://zap.example.com/leads', 0.5],
  ] as const) {
    const made = await createEndpoint(
      store,
      workspaceId,
      {
        ...{ name, url, mapping: null, events: [...LEAD_EVENTS], linkIds: [] },
        ...{ perSecond, concurrency: 8, headers: { authorization: 'Bearer x' } },
      },
      { secret: newSecret(), keyring: new Keyring('of pictures only') },
    );
    if (made.kind !== 'done') throw new Error(made.kind);
    if (perSecond === 5) endpointId = made.endpoint.id;
  }
}

async function deliver(workspaceId: string, people: readonly { leadId: string }[]): Promise<void> {
  const { store } = pages.console;
  for (const { id, name } of await listEndpoints(store, workspaceId)) {
    if (name === 'WhatsApp') {
      await setEndpointState(store, id, 'paused');
      continue;
    }
    const ill = name.startsWith('Planilha');
    for (const [n, { leadId }] of people.toReversed().entries()) {
      const delivered = !ill && n % 17 !== 3;
      await recordTries(
        store,
        id,
        [
          {
            ...{ leadId, version: 1, resends: 0, event: 'lead.created', remoteId: null },
            messageId: `msg_${leadId.slice(0, 18)}`,
            outcome: delivered ? 'delivered' : ill ? 'timeout' : 'answered',
            status: delivered ? 200 : ill ? null : 503,
            detail: delivered ? '{"ok":true}' : ill ? '' : 'Service Unavailable',
            ...{ durationMs: delivered ? 38 + ((n * 13) % 90) : 15_000, retryMs: 6e4 },
            confirmMs: null,
          },
        ],
        { failures: ill ? n + 1 : 0, quietMs: null, disabled: null },
        1e9,
      );
    }
  }
}

afterAll(() => pages.close());

const SIZES = [
  ['desk', { width: 1_280, height: 800 }],
  ['telephone', TELEPHONE],
] as const;

/** A page by its name, its address, and what shows that it is there. */
const PAGES: readonly (readonly [name: string, path: () => string, ready: string])[] = [
  ['leads', () => '/leads', 'a.row'],
  ['lead', () => `/leads/${leadId}`, '.lead-history'],
  ['links', () => '/links', 'a.row'],
  ['new-link', () => '/links/new', 'form'],
  ...['use', 'settings', 'mapping', 'codes'].map(
    (tab) =>
      [`link-${tab}`, () => `/links/${linkId}?tab=${tab}`, '[role=tabpanel]:visible'] as const,
  ),
  ['deliveries', () => '/deliveries', 'a.row'],
  ['new-endpoint', () => '/deliveries/new', 'form'],
  ['endpoint', () => `/deliveries/${endpointId}`, 'tbody tr'],
  ['endpoint-verify', () => `/deliveries/${endpointId}?tab=verify`, '[role=tabpanel]:visible'],
  ['imports', () => '/imports', 'main .bar'],
  ['import', () => '/imports/new', '.drop'],
  ['replay', () => '/imports/replay', 'main button'],
  ...['workspace', 'fields', 'retention', 'operators', 'tokens'].map(
    (tab) => [`settings-${tab}`, () => `/settings?tab=${tab}`, '[role=tabpanel]:visible'] as const,
  ),
  ['audit', () => '/audit', 'main .bar'],
  ['account', () => '/account', '.lead-card'],
  ['endpoint-settings', () => `/deliveries/${endpointId}?tab=settings`, 'form'],
];

test.each(PAGES)(
  '%s',
  async (name, path, ready) => {
    for (const [width, size] of SIZES) {
      const { page } = await pages.openAs('administrator', size);
      await page.goto('/leads');
      for (const language of ['en', 'pt'] as const)
        for (const scheme of ['light', 'dark'] as const) {
          await page.evaluate(
            `localStorage.setItem('leadgate.language', '${language}'); localStorage.setItem('mantine-color-scheme-value', '${scheme}')`,
          );
          await page.goto(path());
          await page.locator(ready).first().waitFor();
          await page.waitForLoadState('networkidle');
          await page.screenshot({ path: `${FOLDER}${name}-${width}-${language}-${scheme}.png` });
        }
      await page.context().close();
    }
  },
  120_000,
);
