import type { CustomField } from '@leadgate/contract';

/** What landing pages of an invented agency post in two weeks: the same for the same seed. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAYS = 14;

/** The links of a demo. `quietHours`: for so long nothing has come. `faulty`: the share of bodies that is refused. */
export const DEMO_LINKS = [
  { label: 'Demo landing page', perDay: 48, quietHours: 0, faulty: 0.01 },
  { label: 'Google Ads: plano família', perDay: 30, quietHours: 0, faulty: 0.01 },
  { label: 'Webinar: saúde em dia', perDay: 38, quietHours: 27, faulty: 0 },
  { label: 'E-book: guia do plano', perDay: 16, quietHours: 0, faulty: 0.22 },
] as const;

/** Custom fields that its pages ask for. */
export const DEMO_FIELDS: readonly Pick<CustomField, 'name' | 'label' | 'type' | 'options'>[] = [
  {
    ...{ name: 'plano', label: 'Plano de interesse', type: 'select' as const },
    options: ['ouro', 'prata', 'bronze'],
  },
  { name: 'renda', label: 'Renda mensal', type: 'number', options: [] },
  { name: 'cliente', label: 'Já é cliente', type: 'boolean', options: [] },
];

/** Where visitors come from, by link; the first ones more often. */
const TOUCHES: readonly (readonly [source: string, medium: string, campaign: string])[][] = [
  [
    ['meta', 'cpc', 'primavera-plano-ouro'],
    ['meta', 'cpc', 'primavera-plano-ouro'],
    ['instagram', 'social', 'depoimentos'],
    ['meta', 'cpc', 'plano-familia-remarketing'],
  ],
  [
    ['google', 'cpc', 'busca-plano-familia'],
    ['google', 'cpc', 'busca-plano-familia'],
    ['google', 'cpc', 'busca-marca'],
  ],
  [
    ['newsletter', 'email', 'webinar-saude-em-dia'],
    ['instagram', 'social', 'webinar-saude-em-dia'],
  ],
  [
    ['blog', 'organic', 'guia-do-plano'],
    ['meta', 'cpc', 'guia-do-plano'],
  ],
];

const FIRST_NAMES =
  'Ana Beatriz Bruno Camila Carlos Caio Daniela Diego Eduarda Fábio Fernanda Gabriel Helena Igor Isabela João José Júlia Larissa Leandro Letícia Lucas Luíza Marcelo Márcia Mariana Mateus Natália Otávio Patrícia Paulo Rafaela Renato Rita Rodrigo Sabrina Thiago Vanessa Vinícius Yasmin'.split(
    ' ',
  );
const LAST_NAMES =
  'Almeida Alves Araújo Barbosa Batista Cardoso Carvalho Castro Correia Costa Dias Duarte Ferreira Freitas Gomes Lima Lopes Machado Martins Melo Mendes Moreira Nascimento Nogueira Nunes Oliveira Pereira Pinto Ramos Ribeiro Rocha Santana Santos Silva Soares Souza Teixeira Vieira'.split(
    ' ',
  );
const CITIES: readonly (readonly [areaCode: number, city: string, state: string])[] = [
  [11, 'São Paulo', 'SP'],
  [11, 'São Paulo', 'SP'],
  [11, 'Guarulhos', 'SP'],
  [19, 'Campinas', 'SP'],
  [21, 'Rio de Janeiro', 'RJ'],
  [21, 'Niterói', 'RJ'],
  [31, 'Belo Horizonte', 'MG'],
  [41, 'Curitiba', 'PR'],
  [51, 'Porto Alegre', 'RS'],
  [61, 'Brasília', 'DF'],
  [71, 'Salvador', 'BA'],
  [81, 'Recife', 'PE'],
  [85, 'Fortaleza', 'CE'],
];
const PLANS = ['ouro', 'prata', 'prata', 'bronze'];
const BROWSERS = [
  'Mozilla/5.0 (Linux; Android 15; SM-A556E) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36',
];

/** How much of a day comes in each of its hours, and of a week on each of its days from Sunday. */
const HOURS = [
  3, 1, 1, 1, 1, 2, 4, 7, 10, 12, 13, 12, 11, 10, 10, 11, 11, 11, 12, 14, 16, 15, 11, 6,
];
const WEEKDAYS = [0.75, 1.1, 1.15, 1.1, 1.05, 0.95, 0.8];
const DAY_WEIGHT = HOURS.reduce((sum, weight) => sum + weight, 0);
/** São Paulo has had no daylight saving time since 2019. */
const ZONE_MS = -3 * HOUR_MS;

export interface DemoPost {
  /** Milliseconds since 1970. */
  at: number;
  /** Of DEMO_LINKS. */
  link: number;
  body: Record<string, unknown>;
  page: string;
  userAgent: string;
  address: string;
  /** A robot filled in the field that no person sees. */
  isSpam: boolean;
}

interface Person {
  name: string;
  email: string;
  telephone: string;
  city: string;
  state: string;
}

/**
 * The posts of two weeks up to a moment, oldest first. Nobody in them lives: addresses are of domains and networks
 * that are kept for examples (RFC 2606, RFC 5737), and no telephone of Brazil begins with 90.
 */
export function demoPosts({ seed, until }: { seed: number; until: number }): DemoPost[] {
  const chance = chanceOf(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(chance() * from.length)] as T;
  const people: Person[] = [];

  function newPerson(): Person {
    const [first, last, more] = [pick(FIRST_NAMES), pick(LAST_NAMES), pick(LAST_NAMES)];
    const [areaCode, city, state] = pick(CITIES);
    const n = people.length;
    const digits = `0${(1_000_000 + ((n * 7_919) % 9_000_000)).toString()}`;
    const person = {
      name: chance() < 0.6 ? `${first} ${last}` : `${first} ${more} ${last}`,
      email: `${plain(first)}.${plain(last)}${n.toString()}@${pick(['example.com', 'example.com', 'example.org', 'example.net'])}`,
      telephone: `(${areaCode.toString()}) 9${digits.slice(0, 4)}-${digits.slice(4)}`,
      ...{ city, state },
    };
    people.push(person);
    return person;
  }

  /** Mostly somebody new, now and then somebody who came before, and rarely two people in one form. */
  function whoPosts(): Person {
    const share = chance();
    if (people.length < 20 || share > 0.14) return newPerson();
    if (share > 0.008) return pick(people);
    return { ...pick(people), telephone: pick(people).telephone };
  }

  function postAt(at: number, link: number): DemoPost {
    const person = whoPosts();
    const [utmSource, utmMedium, utmCampaign] = pick(TOUCHES[link] ?? []);
    const click = `demo.${at.toString(36)}`;
    const query = new URLSearchParams({ utm_source: utmSource, utm_campaign: utmCampaign });
    const page = `https://www.example.com/${link === 3 ? 'guia' : 'planos'}?${query.toString()}`;
    const isPaid = utmMedium === 'cpc';
    // The newest lead is the one that is opened first.
    const isWhole = until - at < 2 * MINUTE_MS;
    const body: DemoPost['body'] = {
      name: person.name,
      ...((isWhole || chance() > 0.06) && { email: person.email }),
      ...((isWhole || chance() > 0.1) && { telephone: person.telephone }),
      ...((isWhole || chance() > 0.5) && { city: person.city, state: person.state }),
      ...{ utmSource, utmMedium, utmCampaign },
      attribution: {
        ...(isPaid && utmSource === 'google' && { gclid: click }),
        ...(isPaid && utmSource === 'meta' && { fbclid: click }),
        landingPage: page,
        clickedAt: new Date(at - (20_000 + chance() ** 3 * 90 * MINUTE_MS)).toISOString(),
      },
      customFields: {
        plano: pick(PLANS),
        ...(chance() > 0.6 && { renda: 1_500 + 250 * Math.floor(chance() * 60) }),
        ...(chance() > 0.7 && { cliente: chance() > 0.8 }),
      },
      ...((isWhole || chance() > 0.25) && { consent: CONSENT }),
    };
    if (chance() < (DEMO_LINKS[link]?.faulty ?? 0)) Object.assign(body, pick(faults(person)));
    return {
      ...{ at, link, body, page, isSpam: link === 0 && chance() < 0.008 },
      userAgent: pick(BROWSERS),
      address: `${pick(['192.0.2', '198.51.100', '203.0.113'])}.${Math.floor(chance() * 254 + 1).toString()}`,
    };
  }

  const times = DEMO_LINKS.flatMap(({ perDay, quietHours }, link) => {
    const end = until - quietHours * HOUR_MS;
    const some: { at: number; link: number }[] = [];
    for (let at = until - DAYS * 24 * HOUR_MS; at < end; at += HOUR_MS) {
      const there = new Date(at + ZONE_MS);
      const usual =
        (perDay * (HOURS[there.getUTCHours()] ?? 0) * (WEEKDAYS[there.getUTCDay()] ?? 1)) /
        DAY_WEIGHT;
      // A campaign that grows.
      const growth = 0.85 + (0.3 * (at - until + DAYS * 24 * HOUR_MS)) / (DAYS * 24 * HOUR_MS);
      for (let n = posts(usual * growth, chance); n > 0; n--)
        some.push({ at: Math.min(at + chance() * HOUR_MS, end), link });
    }
    return some;
  });
  // Whoever looks for the first time sees that it runs, at any hour.
  for (const minutes of [1, 4, 6, 11, 17, 24])
    times.push({ at: until - minutes * MINUTE_MS, link: minutes % 2 });
  return times.toSorted((a, b) => a.at - b.at).map(({ at, link }) => postAt(Math.floor(at), link));
}

const CONSENT = {
  given: true,
  text: 'Aceito receber contato sobre os planos e li a política de privacidade.',
  textVersion: '2026-10',
  language: 'pt-BR',
};

/** What people mistype, as far as it is refused. */
const faults = (person: Person) => [
  { email: person.email.replace('@', '') },
  { email: person.email.replace('@', ' arroba ') },
  { telephone: person.telephone.slice(0, 8) },
  { telephone: 'não tenho' },
  { birthday: '31/02/1990' },
];

const plain = (text: string): string =>
  text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();

/** How many come when so many are usual (Knuth's Poisson). */
function posts(usual: number, chance: () => number): number {
  const limit = Math.exp(-usual);
  let n = 0;
  for (let product = chance(); product > limit; product *= chance()) n += 1;
  return n;
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function chanceOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
