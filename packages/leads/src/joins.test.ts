import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ADDRESS_FIELDS,
  LEAD_FIELDS,
  UTM_FIELDS,
  type CustomField,
  type FieldPath,
  type Lead,
  type Submission,
} from '@leadgate/contract';
import {
  applySubmissions,
  emptyLead,
  joinLeads,
  type LeadState,
  type TouchOfSubmission,
} from './joins.ts';
import { resolveCustomFields } from './custom-fields.ts';

const field = (id: string, archived = false): CustomField => ({
  id,
  workspaceId: 'w',
  name: `name ${id}`,
  label: `label ${id}`,
  type: 'text',
  options: [],
  archived,
});
const fields = [field('f1'), field('f2')];

const submission = (order: number, lead: Lead, stamp = order): Submission => ({
  id: `s${order}`,
  workspaceId: 'w',
  linkId: 'k',
  leadId: 'l',
  identities: [],
  order,
  stamp,
  source: 'post',
  lead,
  notes: [],
  body: '{}',
  bodyType: 'json',
});

const apply: typeof applySubmissions = applySubmissions;
const applied = (...submissions: Submission[]) => apply(emptyLead(), submissions, fields);

describe('standard fields', () => {
  test('what was said later wins, field by field, and what was not said stays', () => {
    const lead = applied(
      submission(1, { name: 'Ana', city: 'Recife' }),
      submission(2, { name: 'Ana Souza' }),
    );
    expect(lead.values).toEqual({ name: 'Ana Souza', city: 'Recife' });
    expect(lead.provenance).toEqual({
      name: { submissionId: 's2', stamp: 2, order: 2 },
      city: { submissionId: 's1', stamp: 1, order: 1 },
    });
  });

  test('a back-dated import fills gaps and overwrites nothing newer', () => {
    const lead = applied(
      submission(5, { name: 'new' }),
      submission(6, { name: 'old', city: 'Recife' }, 1),
    );
    expect(lead.values).toEqual({ name: 'new', city: 'Recife' });
  });

  test('of equal stamps the later order wins', () => {
    const lead = applied(submission(6, { name: 'second' }, 3), submission(5, { name: 'first' }, 3));
    expect(lead.values.name).toBe('second');
  });

  test('subfields of an address win and lose one by one', () => {
    const lead = applied(
      submission(1, { address: { street: 'Rua A', number: '1' }, city: 'Olinda' }),
      submission(2, { address: { number: '2', city: 'Recife' } }),
    );
    expect(lead.values).toEqual({
      city: 'Olinda',
      'address.street': 'Rua A',
      'address.number': '2',
      'address.city': 'Recife',
    });
  });
});

describe('touches', () => {
  test('a second touch with another source only replaces the whole touch (krayin/laravel-crm#2046)', () => {
    const lead = applied(
      submission(1, { utmSource: 'google', utmMedium: 'cpc' }),
      submission(2, { utmSource: 'meta' }),
      submission(3, { name: 'no touch' }),
    );
    expect(lead.lastTouch).toEqual({
      submissionId: 's2',
      stamp: 2,
      order: 2,
      values: { utmSource: 'meta' },
    });
    expect(lead.firstTouch?.values).toEqual({ utmSource: 'google', utmMedium: 'cpc' });
  });

  test('an older touch that arrives later is the first', () => {
    const lead = applied(
      submission(5, { utmSource: 'meta' }),
      submission(6, { utmSource: 'google' }, 1),
    );
    expect(lead.firstTouch?.values).toEqual({ utmSource: 'google' });
    expect(lead.lastTouch?.values).toEqual({ utmSource: 'meta' });
  });

  test('a bare click is a touch, a browser or a page alone is none, and a touch is never mixed', () => {
    const click = { gclid: 'g', fbp: 'b', landingPage: 'https://x.example/?gclid=g' };
    const lead = applied(
      submission(1, { utmSource: 'meta', attribution: { fbclid: 'f' } }),
      submission(2, { attribution: click }),
      submission(3, { attribution: { fbp: 'b', landingPage: 'https://x.example/' } }),
    );
    expect(lead.firstTouch).toMatchObject({ order: 1 });
    expect(lead.firstTouch?.values).toEqual({ utmSource: 'meta', attribution: { fbclid: 'f' } });
    expect(lead.lastTouch).toMatchObject({ order: 2 });
    expect(lead.lastTouch?.values).toEqual({ attribution: click });
  });

  test('a lead without a touch has none', () => {
    expect(applied(submission(1, { name: 'Ana' }))).toMatchObject({
      firstTouch: null,
      lastTouch: null,
    });
  });
});

describe('custom fields', () => {
  test('those of the creator are written and no others, whichever job runs first', () => {
    const creator = submission(1, { customFields: { f1: 'created' } });
    const later = submission(2, { customFields: { f1: 'later', f2: 'later' } });
    for (const lead of [applied(creator, later), applied(later, creator)]) {
      expect(lead.customFields).toEqual({ f1: 'created' });
      expect(lead.creator).toEqual({ submissionId: 's1', order: 1 });
    }
  });

  test('a creator that sent none leaves none, and 0 and false are values', () => {
    const later = submission(2, { customFields: { f1: 'later' } });
    expect(applied(submission(1, {}), later).customFields).toEqual({});
    const zero = submission(1, { customFields: { f1: 0, f2: false } });
    expect(applied(later, zero).customFields).toEqual({ f1: '0', f2: 'false' });
  });

  test('the order of a back-dated import, not its stamp, decides who created the lead', () => {
    const lead = applied(
      submission(6, { customFields: { f1: 'import' } }, 1),
      submission(5, { customFields: { f1: 'post' } }),
    );
    expect(lead.customFields).toEqual({ f1: 'post' });
  });

  test('a replay of the creator is resolved under today’s definitions, and archived fields keep their values', () => {
    const creator = submission(1, { customFields: { f1: 'x', f3: 'forgotten' } });
    const before = applied(creator, submission(2, { name: 'Ana' }));
    expect(before.customFields).toEqual({ f1: 'x' });
    const today = [field('f1', true), field('f3')];
    const after = apply(before, [creator], today);
    expect(after).toEqual({ ...before, customFields: { f1: 'x', f3: 'forgotten' } });
  });

  test('a replay of another submission changes nothing', () => {
    const later = submission(2, { name: 'Ana', customFields: { f2: 'x' } });
    const before = applied(submission(1, { customFields: { f1: 'x' } }), later);
    expect(apply(before, [later], [field('f1'), field('f2'), field('f3')])).toEqual(before);
  });
});

test('an argument is never changed', () => {
  const freeze = <T>(value: T): T => {
    if (typeof value === 'object' && value !== null)
      Object.values(Object.freeze(value)).map(freeze);
    return value;
  };
  const lead = freeze(applied(submission(1, { name: 'Ana', utmSource: 'a' })));
  const next = freeze(submission(2, { name: 'Bia', utmSource: 'b', address: { city: 'Recife' } }));
  expect(apply(lead, [next], freeze([...fields])).values.name).toBe('Bia');
  expect(joinLeads(lead, freeze(applied(next))).values.name).toBe('Bia');
});

describe('for every history', () => {
  /** The specification read aloud: one submission after another, in order, once each. */
  function modelOf(history: Submission[]): LeadState {
    const lead = emptyLead();
    const marksOf = ({ lead: sent }: Submission): TouchOfSubmission['values'] => {
      const { attribution } = sent;
      const marks: TouchOfSubmission['values'] = {};
      for (const f of UTM_FIELDS) if (sent[f] !== undefined) marks[f] = sent[f];
      if (Object.keys(marks).length === 0 && attribution?.gclid === undefined) return {};
      return { ...marks, ...(attribution && { attribution }) };
    };
    for (const sent of [...history].sort((a, b) => a.order - b.order)) {
      const setter = { submissionId: sent.id, stamp: sent.stamp, order: sent.order };
      const said: [FieldPath, string | undefined][] = [
        ...LEAD_FIELDS.map((f) => [f, sent.lead[f]] as [FieldPath, string | undefined]),
        ...ADDRESS_FIELDS.map(
          (f) => [`address.${f}`, sent.lead.address?.[f]] as [FieldPath, string | undefined],
        ),
      ];
      for (const [path, value] of said) {
        if (value === undefined || sent.stamp < (lead.provenance[path]?.stamp ?? 0)) continue;
        lead.values[path] = value;
        lead.provenance[path] = setter;
      }
      const values = marksOf(sent);
      if (Object.keys(values).length > 0) {
        const touch = { ...setter, values };
        if (lead.firstTouch === null || touch.stamp < lead.firstTouch.stamp)
          lead.firstTouch = touch;
        if (lead.lastTouch === null || touch.stamp >= lead.lastTouch.stamp) lead.lastTouch = touch;
      }
      if (lead.creator === null) {
        lead.creator = { submissionId: sent.id, order: sent.order };
        lead.customFields = resolveCustomFields(sent.lead, fields).values;
      }
    }
    return lead;
  }

  const few = fc.constantFrom('a', 'b', 'c');
  const sentLead: fc.Arbitrary<Lead> = fc.record(
    {
      email: few,
      name: few,
      city: few,
      utmSource: few,
      utmTerm: few,
      attribution: fc
        .record({ gclid: few, fbp: few, landingPage: few }, { requiredKeys: [] })
        .filter((one) => Object.keys(one).length > 0),
      address: fc.record({ city: few, number: few }, { requiredKeys: ['city'] }),
      customFields: fc.dictionary(fc.constantFrom('f1', 'name f2', 'f3'), few),
    },
    { requiredKeys: [] },
  );
  /** Orders are unique; stamps are few, so that many are equal, and at most the order. */
  const history = fc
    .array(fc.tuple(sentLead, fc.nat(6)), { maxLength: 8 })
    .map((sent) =>
      sent.map(([lead, back], i) => submission(i + 3, lead, Math.max(1, i + 3 - back))),
    );
  /** The same submissions shuffled, repeated, and cut into groups. */
  const jobs = history.chain((submissions) =>
    fc.record({
      submissions: fc.constant(submissions),
      groups: fc
        .tuple(
          fc.shuffledSubarray(submissions, { minLength: submissions.length }),
          fc.shuffledSubarray(submissions),
          fc.array(fc.nat(5), { maxLength: 4 }),
        )
        .map(([once, again, cuts]) => {
          const queue = [...once, ...again];
          return [...cuts.map((length) => queue.splice(0, length)), queue];
        }),
    }),
  );
  /** Of ids that no other writer's history has, so that orders may be equal and submissions not. */
  const stateBy = (writer: string) =>
    history.map((submissions) =>
      applied(...submissions.map((sent) => ({ ...sent, id: writer + sent.id }))),
    );

  test('any order, grouping and number of times gives the lead of once each in order', () => {
    fc.assert(
      fc.property(jobs, ({ submissions, groups }) => {
        const lead = groups.reduce((lead, group) => apply(lead, group, fields), emptyLead());
        expect(lead).toEqual(modelOf(submissions));
      }),
      { numRuns: 1000 },
    );
  });

  test('two histories joined are the history of both, wherever it was split', () => {
    fc.assert(
      fc.property(history, fc.infiniteStream(fc.boolean()), (submissions, sides) => {
        const left: Submission[] = [];
        const right: Submission[] = [];
        for (const sent of submissions) (sides.next().value ? left : right).push(sent);
        expect(joinLeads(applied(...left), applied(...right))).toEqual(modelOf(submissions));
      }),
      { numRuns: 500 },
    );
  });

  test('joining is commutative, associative and idempotent, and an empty lead changes nothing', () => {
    fc.assert(
      fc.property(stateBy('a'), stateBy('b'), stateBy('c'), (a, b, c) => {
        expect(joinLeads(a, b)).toEqual(joinLeads(b, a));
        expect(joinLeads(joinLeads(a, b), c)).toEqual(joinLeads(a, joinLeads(b, c)));
        expect(joinLeads(a, a)).toEqual(a);
        expect(joinLeads(a, emptyLead())).toEqual(a);
        expect(joinLeads(emptyLead(), a)).toEqual(a);
      }),
      { numRuns: 500 },
    );
  });
});
