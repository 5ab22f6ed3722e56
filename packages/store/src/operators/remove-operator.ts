import type { Store } from '../open-store.ts';

/** Removes an operator and ends their sessions at once. False where there is none of this name. */
export async function removeOperator(store: Store, name: string): Promise<boolean> {
  const { count } = await store.prisma.operator.deleteMany({ where: { name } });
  return count > 0;
}
