import { spawnSync } from 'node:child_process';

/** The images that stand in for servers, by what they are. Those of docker-compose.yml. */
export const IMAGES = { redis: 'redis:7.4-alpine', postgres: 'postgres:17-alpine' };

/**
 * The container engine's command when its daemon answers at once, else null.
 * @returns {string | null}
 */
export function containerEngine() {
  for (const engine of ['docker', 'podman']) {
    const { status } = spawnSync(engine, ['info'], { stdio: 'ignore', timeout: 3000 });
    if (status === 0) return engine;
  }
  return null;
}

/**
 * Whether the engine has an image, or gets it in time.
 * @param {string} engine
 * @param {string} image
 */
export function hasImage(engine, image) {
  /** @param {string[]} args */
  const succeeds = (...args) =>
    spawnSync(engine, args, { stdio: 'ignore', timeout: 120_000 }).status === 0;
  return succeeds('image', 'inspect', image) || succeeds('pull', image);
}
