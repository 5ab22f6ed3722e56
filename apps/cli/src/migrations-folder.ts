import { fileURLToPath } from 'node:url';

/** Where the migrations are: the same way from src/ and from dist/. */
export const migrationsFolder = fileURLToPath(
  new URL('../../../prisma/migrations', import.meta.url),
);
