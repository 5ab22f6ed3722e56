import type { FieldPath } from '@leadgate/contract';
import type { Provenance } from '@leadgate/leads';

/**
 * Which submissions set the fields of a lead, as its row holds them: each submission once (id, stamp,
 * order) with its fields behind it. By field, as the join has it, the same few ids would stand in a
 * row a dozen times, and be sent, parsed and logged with every lead.
 */
export type StoredProvenance = [
  submissionId: string,
  stamp: number,
  order: number,
  ...paths: FieldPath[],
][];

type ByField = Partial<Record<FieldPath, Provenance>>;

export function readProvenance(stored: StoredProvenance): ByField {
  const byField: ByField = {};
  for (const [submissionId, stamp, order, ...paths] of stored) {
    const provenance = { submissionId, stamp, order };
    for (const path of paths) byField[path] = provenance;
  }
  return byField;
}

/** In the order of `paths`, so that equal provenance is stored equally. */
export function storedProvenance(byField: ByField, paths: readonly FieldPath[]): StoredProvenance {
  const submissions = new Map<string, StoredProvenance[number]>();
  for (const path of paths) {
    const provenance = byField[path];
    if (provenance === undefined) continue;
    const { submissionId, stamp, order } = provenance;
    const known = submissions.get(submissionId);
    if (known === undefined) submissions.set(submissionId, [submissionId, stamp, order, path]);
    else known.push(path);
  }
  return [...submissions.values()];
}
