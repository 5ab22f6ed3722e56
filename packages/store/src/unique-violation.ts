import { Prisma } from './generated/client.ts';

/** Whether a write failed because a unique value is there already. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002';
}
