import { connect, createServer, type Socket } from 'node:net';
import { listen } from '../scripts/servers/listen.js';

export type RedisGate = Awaited<ReturnType<typeof openRedisGate>>;

export interface Held {
  /** Lets through what was held, and all that follows. */
  release: () => void;
}

interface Trap {
  text: string;
  of: 'command' | 'answer';
  sprung: (held: Held) => void;
}

/**
 * A port that passes everything on to Redis, until it is told not to: what a process sends to Redis or hears from it,
 * held back at a moment of a test's choice.
 */
export async function openRedisGate(redisUrl: string) {
  const target = new URL(redisUrl);
  const sockets = new Set<Socket>();
  let trap: Trap | null = null;

  const server = createServer((client) => {
    const redis = connect(Number(target.port), target.hostname);
    const commands = passOn(redis);
    const answers = passOn(client);
    for (const socket of [client, redis]) {
      sockets.add(socket);
      // One end goes: so does the other.
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        redis.destroy();
      });
    }
    client.on('data', (data) => {
      if (trap !== null && data.includes(trap.text)) {
        const flow = trap.of === 'command' ? commands : answers;
        flow.hold();
        trap.sprung({ release: flow.release });
        trap = null;
      }
      commands.write(data);
    });
    redis.on('data', answers.write);
  });
  const { port, close } = await listen(server);
  const url = Object.assign(new URL(redisUrl), { host: `127.0.0.1:${port}` });
  const set = (of: Trap['of'], text: string) =>
    new Promise<Held>((sprung) => (trap = { of, text, sprung }));
  return {
    /** To give to the process instead of Redis's own. */
    url: url.href,
    /**
     * From now on: holds back what a client sends from the first piece on that holds `text`, on the
     * connection it is sent on. Resolves when that happened.
     */
    holdCommand: (text: string) => set('command', text),
    /** The same for the answers to what holds `text`: the command itself reaches Redis. */
    holdAnswer: (text: string) => set('answer', text),
    close: async (): Promise<void> => {
      for (const socket of sockets) socket.destroy();
      await close();
    },
  };
}

function passOn(to: Socket) {
  let held: Buffer[] | null = null;
  return {
    write: (data: Buffer): void => {
      if (held !== null) held.push(data);
      else if (!to.destroyed) to.write(data);
    },
    hold: (): void => void (held ??= []),
    release: (): void => {
      for (const data of held ?? []) if (!to.destroyed) to.write(data);
      held = null;
    },
  };
}
