import { RoleSchema } from '@leadgate/contract';
import { createToken, listTokens, LONGEST_TOKEN_DAYS, revokeToken } from '@leadgate/store';
import { Type } from 'typebox';
import { invalid, operation, Refusal, UNKNOWN_WORKSPACE } from './operation.ts';
import { At, Nullable, Uuid } from './schema.ts';

const members = {
  id: Uuid,
  name: Type.String(),
  role: RoleSchema,
  workspaceId: Nullable(Uuid),
  createdBy: Type.String(),
  createdAt: At,
  expiresAt: At,
  lastUsedAt: Nullable(At),
  revokedAt: Nullable(At),
};
const TokenView = Type.Object(members);

const DAYS = 90;

/** API tokens, for programs. */
export const token = {
  list: operation({
    name: 'token.list',
    id: 'listTokens',
    method: 'GET',
    path: '/tokens',
    summary: 'List the API tokens, revoked ones too; their secrets are not known any more',
    role: 'administrator',
    input: Type.Object({}),
    output: Type.Array(TokenView),
    run: (_input, { store }) => listTokens(store),
  }),

  create: operation({
    name: 'token.create',
    id: 'createToken',
    method: 'POST',
    path: '/tokens',
    summary: 'Create an API token; its secret is shown this once',
    role: 'administrator',
    subject: ['name', 'role', 'workspaceId', 'days'],
    input: Type.Object({
      name: Type.String(),
      role: RoleSchema,
      workspaceId: Type.Optional(
        Type.String({ format: 'uuid', description: 'Where it may; everywhere if left out.' }),
      ),
      days: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: LONGEST_TOKEN_DAYS,
          description: `How long it is good for; ${DAYS} if left out.`,
        }),
      ),
    }),
    output: Type.Object({ ...members, secret: Type.String() }),
    status: 201,
    run: async ({ workspaceId = null, days = DAYS, ...asked }, { store }, { actor }) => {
      const createdBy = { name: actor.name, operatorId: actor.operatorId ?? null };
      const outcome = await createToken(store, { ...asked, workspaceId, days, createdBy });
      switch (outcome.kind) {
        case 'created':
          return { ...outcome.token, secret: outcome.secret };
        case 'invalid':
          return invalid(outcome.errors);
        case 'name-taken':
          return new Refusal('conflict', `A token "${outcome.name}" is in force already.`);
        case 'unknown-workspace':
          return UNKNOWN_WORKSPACE;
      }
    },
  }),

  revoke: operation({
    name: 'token.revoke',
    id: 'revokeToken',
    method: 'DELETE',
    path: '/tokens/:name',
    summary: 'Revoke an API token, by name or id, for good',
    role: 'administrator',
    input: Type.Object({ name: Type.String({ maxLength: 300 }) }),
    output: TokenView,
    run: async ({ name }, { store }) =>
      (await revokeToken(store, name)) ??
      new Refusal('not-found', `There is no token "${name}" in force.`),
  }),
};
