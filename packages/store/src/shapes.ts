import { type Drift, driftOf, type LinkShape, seeShape } from '@leadgate/leads';
import type { Store } from './open-store.ts';
import { SHAPE } from './tally.ts';
import type { Statements } from './statements.ts';

interface ShapeRow {
  linkId: string;
  shape: LinkShape;
}

/** Adds stored posts, by the fields they had, to what is usual of their links: in the order given. */
export async function seeShapes(
  db: Statements,
  posts: readonly { workspaceId: string; linkId: string; what: string; n: number }[],
): Promise<void> {
  if (posts.length === 0) return;
  const ids = [...new Set(posts.map(({ linkId }) => linkId))];
  const [{ now }] = await db.$queryRaw<[{ now: Date }]>`SELECT now()`;
  const rows = await db.$queryRaw<ShapeRow[]>`
    SELECT link_id AS "linkId", shape FROM link_shape WHERE link_id = ANY (${ids}::uuid[])
    ORDER BY link_id FOR UPDATE`;
  const shapes = new Map(rows.map(({ linkId, shape }) => [linkId, shape]));
  for (const { linkId, what, n } of posts) {
    const fields = what.slice(SHAPE.length).split('\n');
    const before = shapes.get(linkId) ?? null;
    shapes.set(linkId, seeShape(before, { fields, posts: n, at: now.getTime() }));
  }
  const seen = [...shapes].map(([linkId, shape]) => {
    return { linkId, shape, drifted: driftOf(shape) !== null };
  });
  await db.$executeRaw`
    INSERT INTO link_shape (link_id, shape, drifted)
    SELECT "linkId", shape, drifted
    FROM jsonb_to_recordset(${JSON.stringify(seen)}::jsonb) AS new (
      "linkId" uuid, shape jsonb, drifted boolean)
    ORDER BY 1
    ON CONFLICT (link_id) DO UPDATE SET shape = excluded.shape, drifted = excluded.drifted`;
}

/** Links whose new posts lack what nearly all had, or nearly all have what is no field. */
export async function driftedLinks(store: Store): Promise<({ linkId: string } & Drift)[]> {
  const rows = await store.prisma.$queryRaw<ShapeRow[]>`
    SELECT link_id AS "linkId", shape FROM link_shape WHERE drifted ORDER BY link_id`;
  return rows.flatMap(({ linkId, shape }) => {
    const drift = driftOf(shape);
    return drift === null ? [] : [{ linkId, ...drift }];
  });
}
