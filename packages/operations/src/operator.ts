import { RoleSchema } from '@leadgate/contract';
import {
  addOperator,
  changeAccess,
  changePassword,
  listOperators,
  removeOperator,
  removeSecondFactor,
} from '@leadgate/store';
import { Type } from 'typebox';
import { invalid, NOTHING, operation, Refusal, UNKNOWN_WORKSPACE } from './operation.ts';
import { At, Nullable, Uuid } from './schema.ts';

const OperatorView = Type.Object({
  id: Uuid,
  name: Type.String(),
  role: Nullable(RoleSchema),
  workspaces: Type.Array(Type.Object({ workspaceId: Uuid, role: RoleSchema })),
  hasSecondFactor: Type.Boolean(),
  createdAt: At,
});
const workspaceId = Type.Optional(
  Type.String({ format: 'uuid', description: 'Where the role holds; everywhere if left out.' }),
);
const name = Type.String({ maxLength: 300 });
const password = Type.String({ maxLength: 1_000 });

/** Who may sign in to the console, and what they may do there. */
export const operator = {
  list: operation({
    name: 'operator.list',
    id: 'listOperators',
    method: 'GET',
    path: '/operators',
    summary: 'List who may sign in',
    role: 'administrator',
    input: Type.Object({}),
    output: Type.Array(OperatorView),
    run: (_input, { store }) => listOperators(store),
  }),

  add: operation({
    name: 'operator.add',
    id: 'addOperator',
    method: 'POST',
    path: '/operators',
    summary: 'Add somebody who may sign in',
    role: 'administrator',
    subject: ['name', 'role', 'workspaceId'],
    input: Type.Object({ name, password, role: RoleSchema, workspaceId }),
    output: OperatorView,
    status: 201,
    run: async ({ workspaceId = null, ...asked }, { store }) => {
      const outcome = await addOperator(store, { ...asked, workspaceId });
      switch (outcome.kind) {
        case 'added':
          return outcome.operator;
        case 'invalid':
          return invalid(outcome.errors);
        case 'name-taken':
          return new Refusal('conflict', `There is an operator "${outcome.name}" already.`);
        case 'unknown-workspace':
          return UNKNOWN_WORKSPACE;
      }
    },
  }),

  set: operation({
    name: 'operator.set',
    id: 'changeOperator',
    method: 'PATCH',
    path: '/operators/:name',
    summary: 'Give somebody another role, everywhere or in one workspace',
    role: 'administrator',
    subject: ['role', 'workspaceId'],
    changes: {
      before: async ({ name, workspaceId }, { store }) => {
        const found = (await listOperators(store)).find((one) => one.name === name);
        if (found === undefined || workspaceId === undefined) return found ?? null;
        const there = found.workspaces.find((one) => one.workspaceId === workspaceId);
        return { role: there?.role ?? null };
      },
      told: ['role'],
    },
    input: Type.Object({ name, role: Nullable(RoleSchema), workspaceId }),
    output: OperatorView,
    run: async ({ name, role, workspaceId = null }, { store }, { actor }) => {
      if (workspaceId === null && isSelf(actor, name))
        return new Refusal('conflict', 'You cannot change your own role everywhere.');
      const outcome = await changeAccess(store, name, { role, workspaceId });
      if (outcome.kind === 'changed') return outcome.operator;
      return outcome.kind === 'unknown-workspace' ? UNKNOWN_WORKSPACE : unknown(name);
    },
  }),

  password: operation({
    name: 'operator.password',
    id: 'changePassword',
    method: 'POST',
    path: '/operators/:name/credentials',
    summary: 'Give somebody another password, and end their sessions',
    role: 'administrator',
    input: Type.Object({ name, password }),
    output: NOTHING,
    run: async ({ name, password }, { store }) => {
      const outcome = await changePassword(store, name, password);
      if (outcome.kind === 'invalid') return invalid(outcome.errors);
      return outcome.kind === 'unknown-operator' ? unknown(name) : null;
    },
  }),

  dropSecondFactor: operation({
    name: 'operator.drop-second-factor',
    id: 'dropSecondFactor',
    method: 'DELETE',
    path: '/operators/:name/second-factor',
    summary: 'Ask somebody for no second factor any more: a lost telephone or key',
    role: 'administrator',
    input: Type.Object({ name }),
    output: NOTHING,
    run: async ({ name }, { store }) =>
      (await removeSecondFactor(store, name)) ? null : unknown(name),
  }),

  remove: operation({
    name: 'operator.remove',
    id: 'removeOperator',
    method: 'DELETE',
    path: '/operators/:name',
    summary: 'Remove somebody: their sessions and the tokens they made end at once',
    role: 'administrator',
    input: Type.Object({ name }),
    output: NOTHING,
    run: async ({ name }, { store }, { actor }) => {
      if (isSelf(actor, name)) return new Refusal('conflict', 'You cannot remove yourself.');
      return (await removeOperator(store, name)) ? null : unknown(name);
    },
  }),
};

const isSelf = (actor: { kind: string; name: string }, name: string): boolean =>
  actor.kind === 'operator' && actor.name === name;

const unknown = (name: string): Refusal =>
  new Refusal('not-found', `There is no operator "${name}".`);
