import { runs } from './process.js';

/** The images that stand in for servers, by what they are. Those of docker-compose.yml. */
export const IMAGES = { redis: 'redis:7.4-alpine', postgres: 'postgres:17-alpine' };

/**
 * The container engine's command when its daemon answers at once, else null.
 * @returns {string | null}
 */
export function containerEngine() {
  for (const engine of ['docker', 'podman']) {
    if (runs(engine, ['info'], { timeout: 3000 })) return engine;
  }
  return null;
}

/**
 * Whether the engine has an image, or gets it in time.
 * @param {string} engine
 * @param {string} image
 */
export function hasImage(engine, image) {
  const inTime = { timeout: 120_000 };
  return runs(engine, ['image', 'inspect', image], inTime) || runs(engine, ['pull', image], inTime);
}
