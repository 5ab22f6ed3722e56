/** The same server's URL with another database. */
export function databaseUrl(url: string, database: string): string {
  const other = new URL(url);
  other.pathname = `/${database}`;
  return other.href;
}

/** The name of a test's database. It carries the time: see madeAt. */
export function testDatabaseName(random: string): string {
  return `leadgate_test_${Date.now().toString()}_${random}`;
}

/** When a test's database was made, milliseconds since 1970, by its name. */
export function madeAt(name: string): number {
  return Number(name.split('_')[2]);
}
