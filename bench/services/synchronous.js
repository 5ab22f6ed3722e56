import { openStore } from '@leadgate/store';
import { findOrCreate } from './find-or-create.js';
import { readSettings, serve } from './http-service.js';

/** A service without a queue: everything is in Postgres when it answers. */
/** @type {{ port: number, databaseUrl: string }} */
const { port, databaseUrl } = readSettings();
const { prisma } = openStore({ url: databaseUrl, poolSize: 10 });
await serve(port, async (read, code) => {
  const found = await prisma.captureCode.findUnique({
    where: { code },
    include: { link: { include: { workspace: true } } },
  });
  if (found?.link.state !== 'open') throw new Error('no such link');
  const { workspaceId, id: linkId } = found.link;
  return findOrCreate(prisma, { ...read, workspaceId, linkId });
});
