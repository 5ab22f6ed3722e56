import { RoleSchema } from '@leadgate/contract';
import {
  beginSecondFactor,
  beginSecurityKey,
  changePassword,
  confirmSecondFactor,
  confirmSecurityKey,
  endSessionById,
  findOperator,
  keepViews,
  listSecurityKeys,
  listSessions,
  listViews,
  provePassword,
  removeAuthenticator,
  removeSecurityKey,
} from '@leadgate/store';
import { Type } from 'typebox';
import {
  invalid,
  NO_KEY,
  NOTHING,
  operation,
  Refusal,
  type Call,
  type SignedIn,
} from './operation.ts';
import { At, Nullable, open, Uuid } from './schema.ts';

const password = Type.String({ maxLength: 1_000 });

const SessionView = Type.Object({
  id: Uuid,
  browser: Type.String(),
  current: Type.Boolean(),
  createdAt: At,
  lastUsedAt: At,
  expiresAt: At,
});

const ViewOfLeads = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 80 }),
  query: Type.String({
    maxLength: 2_000,
    description: 'Of the address of the page of leads: link=…&period=7d. No value of a person.',
  }),
});

const SecurityKeyView = Type.Object({
  id: Uuid,
  name: Type.String(),
  createdAt: At,
  lastUsedAt: Nullable(At),
});

const base64url = Type.String({ maxLength: 20_000 });

/** `RegistrationResponseJSON` of WebAuthn, level 3: what a browser's key answered. */
const RegistrationAnswer = Type.Object({
  id: base64url,
  rawId: base64url,
  type: Type.Literal('public-key'),
  response: Type.Object({
    clientDataJSON: base64url,
    attestationObject: base64url,
    transports: Type.Optional(Type.Array(Type.String({ maxLength: 40 }), { maxItems: 10 })),
  }),
  clientExtensionResults: Type.Object({}),
});

/** What somebody may see and change of themselves. Tokens and the command line are nobody. */
export const me = {
  show: operation({
    name: 'me.show',
    id: 'me',
    method: 'GET',
    path: '/me',
    summary: 'Who you are, and what you may do where',
    scope: 'own',
    input: Type.Object({}),
    output: Type.Object({
      kind: Type.String(),
      name: Type.String(),
      role: Nullable(RoleSchema),
      workspaces: Type.Array(Type.Object({ workspaceId: Uuid, role: RoleSchema })),
    }),
    run: (_input, _connections, { actor: { kind, name, role, workspaces } }) => ({
      ...{ kind, name, role, workspaces },
    }),
  }),

  views: operation({
    name: 'me.views',
    id: 'listViews',
    method: 'GET',
    path: '/me/views',
    summary: 'The filters of leads that you keep',
    scope: 'own',
    input: Type.Object({}),
    output: Type.Array(ViewOfLeads),
    run: async (_input, { store }, call) => {
      const person = personOf(call);
      return person instanceof Refusal ? person : listViews(store, person.operatorId);
    },
  }),

  keepViews: operation({
    name: 'me.keep-views',
    id: 'keepViews',
    method: 'POST',
    path: '/me/views',
    summary: 'Keep these filters of leads, and no other',
    role: 'viewer',
    scope: 'own',
    input: Type.Object({ views: Type.Array(ViewOfLeads, { maxItems: 50 }) }),
    output: Type.Array(ViewOfLeads),
    run: async ({ views }, { store }, call) => {
      const person = personOf(call);
      if (person instanceof Refusal) return person;
      await keepViews(store, person.operatorId, views);
      return views;
    },
  }),

  sessions: operation({
    name: 'me.sessions',
    id: 'listSessions',
    method: 'GET',
    path: '/me/sessions',
    summary: 'Where you are signed in',
    scope: 'own',
    input: Type.Object({}),
    output: Type.Array(SessionView),
    run: async (_input, { store }, call) => {
      const person = personOf(call);
      if (person instanceof Refusal) return person;
      const sessions = await listSessions(store, person.operatorId);
      return sessions.map((one) => ({ ...one, current: one.id === person.sessionId }));
    },
  }),

  endSession: operation({
    name: 'me.end-session',
    id: 'endSession',
    method: 'DELETE',
    path: '/me/sessions/:sessionId',
    summary: 'End one of your sessions',
    role: 'viewer',
    scope: 'own',
    input: Type.Object({ sessionId: Uuid }),
    output: NOTHING,
    run: async ({ sessionId }, { store }, call) => {
      const person = personOf(call);
      if (person instanceof Refusal) return person;
      if (await endSessionById(store, person.operatorId, sessionId)) return null;
      return new Refusal('not-found', 'You have no such session.');
    },
  }),

  password: operation({
    name: 'me.password',
    id: 'changeOwnPassword',
    method: 'POST',
    path: '/me/credentials',
    summary: 'Change your password: your other sessions end',
    role: 'viewer',
    scope: 'own',
    input: Type.Object({ current: password, password }),
    output: NOTHING,
    run: async ({ current, password }, { store }, call) => {
      const person = await provenPerson(call, store, current);
      if (person instanceof Refusal) return person;
      const outcome = await changePassword(store, person.name, password, person.sessionId);
      return outcome.kind === 'invalid' ? invalid(outcome.errors) : null;
    },
  }),

  secondFactor: operation({
    name: 'me.second-factor',
    id: 'showSecondFactor',
    method: 'GET',
    path: '/me/second-factor',
    summary: 'What is asked of you at sign-in beside your password',
    scope: 'own',
    input: Type.Object({}),
    output: Type.Object({
      authenticator: Type.Boolean({ description: 'A code of it will do.' }),
      keys: Type.Array(SecurityKeyView, { description: 'Any of them will do.' }),
    }),
    run: async (_input, { store }, call) => {
      const person = personOf(call);
      if (person instanceof Refusal) return person;
      const { operatorId } = person;
      const [operator, keys] = await Promise.all([
        findOperator(store, operatorId),
        listSecurityKeys(store, operatorId),
      ]);
      return { authenticator: operator?.hasAuthenticator === true, keys };
    },
  }),

  beginSecurityKey: operation({
    name: 'me.begin-security-key',
    id: 'beginSecurityKey',
    method: 'POST',
    path: '/me/security-keys',
    summary: 'Begin to add a security key or passkey: what the browser asks it with',
    description:
      'The answer is `PublicKeyCredentialCreationOptionsJSON` of WebAuthn. It is good for five minutes, at the address of the console that asked.',
    role: 'viewer',
    scope: 'own',
    input: Type.Object({ current: password }),
    output: open({ challenge: Type.String() }),
    run: async ({ current }, { store }, call) => {
      const person = await provenPerson(call, store, current);
      if (person instanceof Refusal) return person;
      const options = await beginSecurityKey(store, person);
      if (options === null) return new Refusal('conflict', 'You have ten keys: remove one first.');
      return { ...options };
    },
  }),

  addSecurityKey: operation({
    name: 'me.add-security-key',
    id: 'addSecurityKey',
    method: 'POST',
    path: '/me/security-keys/confirm',
    summary: 'Ask for this security key at every sign-in from now on, or another second factor',
    role: 'viewer',
    scope: 'own',
    subject: ['name'],
    input: Type.Object({ name: Type.String({ maxLength: 300 }), answer: RegistrationAnswer }),
    output: SecurityKeyView,
    status: 201,
    run: async ({ name, answer }, { store }, call) => {
      const person = personOf(call);
      if (person instanceof Refusal) return person;
      const outcome = await confirmSecurityKey(store, { ...person, name, answer });
      switch (outcome.kind) {
        case 'added':
          return outcome.key;
        case 'invalid':
          return invalid(outcome.errors);
        case 'refused':
          return invalid([{ pointer: '/answer', code: 'invalid', detail: KEY_REFUSED }]);
      }
    },
  }),

  dropSecurityKey: operation({
    name: 'me.drop-security-key',
    id: 'dropSecurityKey',
    method: 'POST',
    path: '/me/security-keys/:keyId/drop',
    summary: 'Remove one of your security keys',
    role: 'viewer',
    scope: 'own',
    input: Type.Object({ keyId: Uuid, current: password }),
    output: NOTHING,
    run: async ({ keyId, current }, { store }, call) => {
      const person = await provenPerson(call, store, current);
      if (person instanceof Refusal) return person;
      if (await removeSecurityKey(store, person.operatorId, keyId)) return null;
      return new Refusal('not-found', 'You have no such key.');
    },
  }),

  beginSecondFactor: operation({
    name: 'me.begin-second-factor',
    id: 'beginSecondFactor',
    method: 'POST',
    path: '/me/second-factor',
    summary: 'Make the secret of an authenticator; it counts once its first code is confirmed',
    role: 'viewer',
    scope: 'own',
    input: Type.Object({ current: password }),
    output: Type.Object({ uri: Type.String(), secret: Type.String() }),
    run: async ({ current }, { store, keyring }, call) => {
      const person = await provenPerson(call, store, current);
      if (person instanceof Refusal) return person;
      const keys = await keyring();
      return keys === null ? NO_KEY : beginSecondFactor(store, person.name, keys);
    },
  }),

  confirmSecondFactor: operation({
    name: 'me.confirm-second-factor',
    id: 'confirmSecondFactor',
    method: 'POST',
    path: '/me/second-factor/confirm',
    summary: 'Ask for a code of the authenticator at every sign-in from now on',
    role: 'viewer',
    scope: 'own',
    input: Type.Object({ code: Type.String({ maxLength: 20 }) }),
    output: NOTHING,
    run: async ({ code }, { store, keyring }, call) => {
      const person = personOf(call);
      if (person instanceof Refusal) return person;
      const keys = await keyring();
      if (keys === null) return NO_KEY;
      if (await confirmSecondFactor(store, person.name, code, keys)) return null;
      const detail =
        'That is not a code of the authenticator now. Is the clock of the phone right?';
      return invalid([{ pointer: '/code', code: 'invalid', detail }]);
    },
  }),

  dropSecondFactor: operation({
    name: 'me.drop-second-factor',
    id: 'dropOwnSecondFactor',
    method: 'POST',
    path: '/me/second-factor/drop',
    summary: 'Ask for no code of an authenticator at sign-in any more',
    role: 'viewer',
    scope: 'own',
    input: Type.Object({ current: password }),
    output: NOTHING,
    run: async ({ current }, { store }, call) => {
      const person = await provenPerson(call, store, current);
      if (person instanceof Refusal) return person;
      await removeAuthenticator(store, person.name);
      return null;
    },
  }),
};

const NOBODY = new Refusal('conflict', 'Only somebody who signed in to the console can do this.');

const KEY_REFUSED = 'That is not an answer of a new key to what was asked. Begin again.';

function personOf({ actor }: Call): (SignedIn & { name: string }) | Refusal {
  const { name, operatorId, sessionId, origin } = actor;
  return operatorId === undefined || sessionId === undefined || origin === undefined
    ? NOBODY
    : { name, operatorId, sessionId, origin };
}

/** A session that was left open is not enough for what keeps others out. */
async function provenPerson(
  call: Call,
  store: Parameters<typeof provePassword>[0],
  password: string,
): Promise<ReturnType<typeof personOf>> {
  const person = personOf(call);
  if (person instanceof Refusal) return person;
  const proof = await provePassword(store, person.operatorId, password);
  switch (proof.kind) {
    case 'right':
      return person;
    case 'wrong':
      return invalid([
        { pointer: '/current', code: 'invalid', detail: 'That is not your password.' },
      ]);
    case 'slowed':
      return new Refusal('not-allowed', `Too many tries. Wait ${proof.retryAfterSeconds} seconds.`);
  }
}
