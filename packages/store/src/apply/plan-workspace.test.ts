import { bareSubmission } from '@leadgate/testkit';
import type { Lead, Submission } from '@leadgate/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Known,
  type KnownLead,
  type Plan,
  planWorkspace,
  successorOf,
} from './plan-workspace.ts';

const workspaceId = '00000000-0000-4000-8000-000000000000';
const [A, B, C] = ['a', 'b', 'c'].map((digit) =>
  digit.repeat(8).concat('-0000-4000-8000-000000000000'),
) as [string, string, string];

const ana: Lead = { email: 'ana@example.com', telephone: '5511987654321' };
const [EMAIL, PHONE] = ['email:ana@example.com', 'phone:+5511987654321'] as const;

function known(leads: Record<string, Partial<KnownLead>>, owners: Record<string, string> = {}) {
  return {
    leads: new Map(
      Object.entries(leads).map(([id, lead]) => [
        id,
        { mergedInto: null, erasedOrder: null, ...lead },
      ]),
    ),
    owners: new Map(Object.entries(owners)),
    tombstones: new Map(),
  } satisfies Known;
}

const submission = (leadId: string, more: Partial<Submission> = {}) =>
  bareSubmission({ workspaceId, leadId, lead: ana, ...more });

function plan(submissions: Submission[], from: Known = known({})): Plan {
  return planWorkspace(submissions, new Set(submissions.map(({ id }) => id)), from);
}

const leadsOf = ({ routes }: Plan) => routes.map(({ leadId }) => leadId);

describe('where reservation and Postgres agree', () => {
  test('a new lead gets its row and its keys', () => {
    const { newLeads, claims, moved } = plan([submission(A)]);
    expect([...newLeads]).toEqual([[A, null]]);
    expect([...claims]).toEqual([
      [EMAIL, A],
      [PHONE, A],
    ]);
    expect(moved).toEqual([]);
  });

  test('a known lead gets nothing that it has', () => {
    const { newLeads, claims } = plan([submission(A)], known({ [A]: {} }, { [EMAIL]: A }));
    expect(newLeads.size).toBe(0);
    expect([...claims.keys()]).toEqual([PHONE]);
  });

  test('a key that the reservation left unowned is not stored', () => {
    expect(plan([submission(A, { identities: [{ key: EMAIL, owner: null }] })]).claims.size).toBe(
      0,
    );
  });

  test('a phone of another lead leaves that lead its key, and the two are possible duplicates', () => {
    const { newLeads, claims, duplicates, moved } = plan([
      submission(B, {
        identities: [
          { key: EMAIL, owner: B },
          { key: PHONE, owner: A },
        ],
      }),
    ]);
    expect([...newLeads.keys()]).toEqual([B]);
    expect([...claims]).toEqual([[EMAIL, B]]);
    expect(duplicates).toEqual([[A, B]]);
    expect(moved).toEqual([]);
  });

  test('two names of one lead are no possible duplicate', () => {
    const { duplicates } = plan(
      [submission(A, { identities: [{ key: PHONE, owner: B }] })],
      known({ [A]: {}, [B]: { mergedInto: A } }),
    );
    expect(duplicates).toEqual([]);
  });
});

describe('where they disagree', () => {
  test('an id without a row becomes an alias of the lead that owns its email, before its phone', () => {
    const { newLeads, routes, duplicates, moved } = plan(
      [submission(C)],
      known({ [A]: {}, [B]: {} }, { [EMAIL]: B, [PHONE]: A }),
    );
    expect([...newLeads]).toEqual([[C, B]]);
    expect(routes).toMatchObject([{ kind: 'lead', leadId: B }]);
    expect(duplicates).toEqual([[A, B]]);
    expect(moved).toEqual([
      { key: EMAIL, from: C, to: B },
      { key: PHONE, from: C, to: A },
    ]);
  });

  test('the email counts before the phone even when another submission brought the phone first', () => {
    const { newLeads } = plan(
      [
        submission(C, { identities: [{ key: PHONE, owner: C }] }),
        submission(C, { identities: [{ key: EMAIL, owner: C }] }),
      ],
      known({ [A]: {}, [B]: {} }, { [EMAIL]: B, [PHONE]: A }),
    );
    expect([...newLeads]).toEqual([[C, B]]);
  });

  test('a free key of an alias goes to the lead it stands for', () => {
    const { claims, moved } = plan([submission(C)], known({ [A]: {} }, { [EMAIL]: A }));
    expect([...claims]).toEqual([[PHONE, A]]);
    expect(moved).toContainEqual({ key: PHONE, from: C, to: A });
  });

  test('an id with a row stays a lead, as a possible duplicate, and the key stays where it is', () => {
    const { newLeads, claims, routes, duplicates, moved } = plan(
      [submission(B)],
      known({ [A]: {}, [B]: {} }, { [EMAIL]: A }),
    );
    expect(newLeads.size).toBe(0);
    expect(routes).toMatchObject([{ leadId: B }]);
    expect([...claims]).toEqual([[PHONE, B]]);
    expect(duplicates).toEqual([[A, B]]);
    expect(moved).toEqual([{ key: EMAIL, from: B, to: A }]);
  });

  test('two new ids of one email in one group become one lead, that of the lower order', () => {
    const [first, second] = [submission(B), submission(A)];
    const { newLeads, duplicates } = plan([second, first]);
    expect([...newLeads]).toEqual([
      [B, null],
      [A, B],
    ]);
    expect(duplicates).toEqual([]);
  });

  test('an owner whose row is gone gets it again, so that nothing is applied to nowhere', () => {
    expect([...plan([submission(B)], known({}, { [EMAIL]: A })).newLeads]).toEqual([
      [B, A],
      [A, null],
    ]);
  });

  test('a submission that was applied before still says which keys moved', () => {
    const done = submission(C);
    const from = known({ [A]: {}, [C]: { mergedInto: A } }, { [EMAIL]: A });
    const { routes, newLeads, claims, moved } = planWorkspace([done], new Set(), from);
    expect(routes).toMatchObject([{ fresh: false, leadId: A }]);
    expect([newLeads.size, claims.size]).toEqual([0, 0]);
    expect(moved).toEqual([{ key: EMAIL, from: C, to: A }]);
  });
});

describe('an id that was answered while Redis was away', () => {
  test('stands for the lead that the drain found', () => {
    const { newLeads } = plan([submission(A, { answeredLeadId: B })]);
    expect([...newLeads]).toEqual([
      [A, null],
      [B, A],
    ]);
  });

  test('stands for the final lead when the one found is an alias itself', () => {
    const { newLeads } = plan(
      [submission(A, { answeredLeadId: B })],
      known({ [A]: { mergedInto: C }, [C]: {} }),
    );
    expect([...newLeads]).toEqual([[B, C]]);
  });

  test('that turns out to be a lead stays one, whichever of the two comes first', () => {
    const drained = submission(A, { answeredLeadId: B });
    const own = submission(B, { lead: { email: 'b@example.com' } });
    for (const group of [
      [drained, own],
      [own, drained],
    ]) {
      const { newLeads, duplicates } = plan(group);
      expect(newLeads.get(B)).toBeNull();
      expect(duplicates).toEqual([[A, B]]);
    }
    expect(plan([drained], known({ [B]: {} })).duplicates).toEqual([[A, B]]);
  });

  test('stands for the lead of a submission that was applied before without it', () => {
    const done = submission(A, { answeredLeadId: B });
    const of = (from: Known) => [...planWorkspace([done], new Set(), from).newLeads];
    expect(of(known({ [A]: {} }))).toEqual([[B, A]]);
    expect(of(known({ [A]: { mergedInto: C }, [C]: {} }))).toEqual([[B, C]]);
    expect(of(known({ [A]: {}, [B]: { mergedInto: A } }))).toEqual([]);
    expect(of(known({ [A]: {}, [B]: {} }))).toEqual([]);
    expect(planWorkspace([done], new Set(), known({ [A]: {}, [B]: {} })).duplicates).toEqual([]);
  });

  test('that is the lead itself changes nothing', () => {
    const { newLeads, duplicates } = plan([submission(A, { answeredLeadId: A })]);
    expect([...newLeads]).toEqual([[A, null]]);
    expect(duplicates).toEqual([]);
  });
});

describe('an erased lead', () => {
  const at = 1_700_000_000_000_000;

  test('drops what is from before its erasure and takes no keys from it', () => {
    const { routes, claims, newLeads } = plan(
      [submission(A, { stamp: at })],
      known({ [A]: { erasedOrder: at } }),
    );
    expect(routes).toMatchObject([{ kind: 'erased', leadId: A }]);
    expect([claims.size, newLeads.size]).toEqual([0, 0]);
  });

  test('begins anew with what is from later, and with that lead when it is erased too', () => {
    const later = submission(A, { stamp: at + 2 });
    const next = successorOf(A);
    const once = plan([later], known({ [A]: { erasedOrder: at } }));
    expect(once.routes).toMatchObject([{ kind: 'successor', leadId: next }]);
    expect([...once.newLeads]).toEqual([[next, null]]);
    expect(once.moved).toContainEqual({ key: EMAIL, from: A, to: next });
    const twice = plan(
      [later],
      known({ [A]: { erasedOrder: at }, [next]: { erasedOrder: at + 1 } }),
    );
    expect(leadsOf(twice)).toEqual([successorOf(next)]);
  });

  test('drops what reaches it through an alias, and the answered id still resolves', () => {
    const { routes, newLeads } = plan(
      [submission(B, { stamp: at, answeredLeadId: C })],
      known({ [B]: { mergedInto: A }, [A]: { erasedOrder: at } }),
    );
    expect(routes).toMatchObject([{ kind: 'erased', leadId: A }]);
    expect([...newLeads]).toEqual([[C, A]]);
  });
});

test('a plan does not depend on the order in which a group was gathered', () => {
  const ids = [A, B, C];
  const one = fc.record({
    leadId: fc.constantFrom(...ids),
    email: fc.constantFrom(undefined, 'x@example.com', 'y@example.com'),
    answeredLeadId: fc.option(fc.constantFrom(...ids), { nil: undefined }),
  });
  fc.assert(
    fc.property(
      fc.array(one, { maxLength: 6 }),
      fc.dictionary(fc.constantFrom('email:x@example.com'), fc.constantFrom(A, B)),
      fc.func(fc.integer()),
      (specs, owners, sortKey) => {
        const group = specs.map(({ leadId, email, answeredLeadId }) =>
          submission(leadId, {
            lead: email === undefined ? {} : { email },
            ...(answeredLeadId !== undefined && { answeredLeadId }),
          }),
        );
        const from = known({ [A]: {}, [B]: {} }, owners);
        const shuffled = group.toSorted((a, b) => sortKey(a.id) - sortKey(b.id));
        expect(plan(shuffled, from)).toEqual(plan(group, from));
      },
    ),
  );
});
