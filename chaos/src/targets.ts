import { awaitRedis, connectRedis, type RedisConnection } from '@leadgate/boot';
import { LINK_DEFAULTS } from '@leadgate/contract';
import { openWorkspace, putLinks } from '@leadgate/intake';
import {
  createField,
  createLink,
  createWorkspace,
  linkEntries,
  openStore,
  type Store,
} from '@leadgate/store';

/** A capture link that leads are posted to. */
export interface Target {
  workspaceId: string;
  code: string;
  /** Its sender has names of its own, which are not known to it until half of the time is over. */
  isForeign: boolean;
}

const WORKSPACES = 2;

/** Workspaces with two custom fields, and a link of each kind. */
export async function makeTargets(redisUrl: string, databaseUrl: string): Promise<Target[]> {
  const store = openStore({ url: databaseUrl, poolSize: 2 });
  const redis = connectRedis(redisUrl, { role: 'admin' });
  await awaitRedis(redis);
  try {
    const targets: Target[] = [];
    for (let n = 0; n < WORKSPACES; n++) {
      const workspaceId = await makeWorkspace(store, redis, `chaos-${n}`);
      for (const name of ['plano', 'horario'])
        await createField(store, workspaceId, { name, label: name, type: 'text', options: [] });
      for (const isForeign of [false, true]) {
        const label = isForeign ? 'foreign' : 'chaos';
        const { code } = await makeLink(store, redis, workspaceId, { label });
        targets.push({ workspaceId, code, isForeign });
      }
    }
    return targets;
  } finally {
    await store.close();
    redis.disconnect();
  }
}

/** Returns its id. */
export async function makeWorkspace(
  store: Store,
  redis: RedisConnection,
  name: string,
): Promise<string> {
  const creation = await createWorkspace(store, { name, country: 'BR', dummyPhones: [] });
  if (creation.kind !== 'created') throw new Error(`workspace: ${creation.kind}`);
  await openWorkspace(redis, creation.workspace.id);
  return creation.workspace.id;
}

/** An open link, known to receivers. */
export async function makeLink(
  store: Store,
  redis: RedisConnection,
  workspaceId: string,
  settings: Partial<Parameters<typeof createLink>[2]>,
): Promise<{ linkId: string; code: string }> {
  const open = { ...LINK_DEFAULTS, expiresAt: null, ...settings };
  const linking = await createLink(store, workspaceId, open);
  if (linking.kind !== 'created') throw new Error(`link: ${linking.kind}`);
  const { id: linkId, codes } = linking.link;
  await putLinks(redis, await linkEntries(store, linkId));
  return { linkId, code: codes[0]?.code ?? '' };
}
