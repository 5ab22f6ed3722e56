/** Rows a statement: deleting should not hold the table or the log of Postgres for long. */
const BATCH = 5_000;

/** Deletes up to a limit at a time until a time found fewer. Returns how many went. */
export async function deleteInBatches(
  deleteSome: (limit: number) => Promise<number>,
): Promise<number> {
  let all = 0;
  for (;;) {
    const deleted = await deleteSome(BATCH);
    all += deleted;
    if (deleted < BATCH) return all;
  }
}
