import { createServer } from 'node:http';
import { join } from 'node:path';
import { say } from '../prepare.js';
import { listen } from '../servers/listen.js';
import { readJson, writePrivateJson } from '../servers/place.js';
import { choosePort } from '../servers/process.js';
import { leadgate } from './apps.js';

/** @typedef {{ id: string, demo: 'begun' | 'full' | null }} Workspace */
/** @typedef {{ status: string, label: string, code: string | null, workspaceId: string, captureUrl: string | null }} Link */

/** Of the link that the landing page posts to. */
const LABEL = 'Demo landing page';

/**
 * @typedef {object} Opened
 * @property {string | null} captureUrl of an open link; null if there is none
 * @property {string | null} demoCode of the demo's link; null without a demo
 * @property {boolean} isToFill whether the demo has no leads yet
 */

/**
 * An open capture link: of a demo workspace that is made in an empty database, else of what there is. It is
 * somebody's then, and nothing is added to it; nor to one that a workspace was removed from.
 * @param {NodeJS.ProcessEnv} env says where the servers are
 * @returns {Promise<Opened>}
 */
export async function openCaptureUrl(env) {
  const [workspaces, links] = /** @type {[Workspace[], Link[]]} */ (
    await Promise.all([leadgate(env, ['workspace', 'list']), leadgate(env, ['link', 'list'])])
  );
  const demo = workspaces.find((one) => one.demo !== null);
  const open = links.filter(({ status }) => status === 'open');
  const ofDemo = open.filter(({ workspaceId }) => workspaceId === demo?.id);
  // A first start may have been killed half-way through.
  if (workspaces.length === 0 || (demo?.demo === 'begun' && ofDemo.length === 0)) {
    const made = await leadgate(env, ['demo', 'seed', '--if-fresh', '--empty']);
    const { captureUrl, code } = /** @type {Link} */ (made ?? { captureUrl: null, code: null });
    return { captureUrl, demoCode: code, isToFill: code !== null };
  }
  const landing = ofDemo.find(({ label }) => label === LABEL);
  return {
    captureUrl: (landing ?? open[0])?.captureUrl ?? null,
    demoCode: landing?.code ?? null,
    isToFill: demo?.demo === 'begun',
  };
}

/** What DEMO is for a demo without leads. */
const isOff = () => process.env['DEMO']?.trim() === 'off';

/**
 * Fills the demo with two weeks of leads, beside what runs, until a signal. Never rejects.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} endpointUrl
 * @param {AbortSignal} stopping
 */
export async function fillDemo(env, endpointUrl, stopping) {
  if (isOff()) return;
  const seed = ['demo', 'seed', '--if-fresh', '--endpoint', endpointUrl];
  try {
    await leadgate(env, seed, { signal: stopping });
    say('The demo workspace has two weeks of invented leads: npx leadgate demo remove');
  } catch (error) {
    if (stopping.aborted) return;
    say(`the demo has no leads: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * What the demo's endpoint calls: it takes every message and keeps none. On the same port after a restart.
 * @param {string} home
 * @returns {Promise<{ url: string, stop: () => Promise<boolean> }>}
 */
export async function startDemoCrm(home) {
  const file = join(home, 'demo-crm.json');
  const known = /** @type {{ port?: number } | null} */ (readJson(file));
  const port = await choosePort(known?.port);
  writePrivateJson(file, { port });
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(204).end());
  });
  const { url, close } = await listen(server.unref(), port);
  return { url: `${url}/leads`, stop: () => close().then(() => true) };
}
