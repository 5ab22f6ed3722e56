import type { Store } from '../open-store.ts';
import { operatorColumns, readOperator, type Operator } from './operator.ts';

/** Everybody who may sign in to the console, by name. */
export async function listOperators(store: Store): Promise<Operator[]> {
  const rows = await store.prisma.operator.findMany({
    select: operatorColumns,
    orderBy: { name: 'asc' },
  });
  return rows.map(readOperator);
}
