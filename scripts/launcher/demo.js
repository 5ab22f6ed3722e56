import { leadgate } from './apps.js';

/** @typedef {{ id: string, name: string }} Workspace */
/** @typedef {{ status: string, code: string, workspaceName: string, captureUrl: string | null }} Link */

const WORKSPACE = 'Demo';

const FIELDS = [
  ['--name', 'plano', '--label', 'Plano de interesse', '--type', 'select'].concat(
    ['ouro', 'prata', 'bronze'].flatMap((option) => ['--option', option]),
  ),
  ['--name', 'renda', '--label', 'Renda mensal', '--type', 'number'],
  ['--name', 'cliente', '--label', 'Já é cliente', '--type', 'boolean'],
];

/**
 * The URL of an open capture link, made with a demo workspace and a few custom fields where the
 * database holds no workspace. Null if it holds some and no open link: it is somebody's, and
 * nothing is added to it. `demoCode`: its code, where the link is the demo's own.
 * @param {NodeJS.ProcessEnv} env says where the servers are
 * @returns {Promise<{ captureUrl: string | null, demoCode: string | null }>}
 */
export async function openCaptureUrl(env) {
  const [workspaces, links] = /** @type {[Workspace[], Link[]]} */ (
    await Promise.all([leadgate(env, ['workspace', 'list']), leadgate(env, ['link', 'list'])])
  );
  const isDemo = workspaces.length === 1 && workspaces[0]?.name === WORKSPACE;
  // A first start may have been killed half-way through.
  const link =
    workspaces.length === 0 || (isDemo && links.length === 0)
      ? await makeDemo(env, workspaces.length === 0)
      : links.find(({ status }) => status === 'open');
  const ofDemo = workspaces.length === 0 || link?.workspaceName === WORKSPACE;
  return {
    captureUrl: link?.captureUrl ?? null,
    demoCode: ofDemo ? (link?.code ?? null) : null,
  };
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {boolean} withWorkspace
 */
async function makeDemo(env, withWorkspace) {
  if (withWorkspace) await leadgate(env, ['workspace', 'create', WORKSPACE]);
  const fields = /** @type {{ name: string }[]} */ (
    await leadgate(env, ['field', 'list', WORKSPACE])
  );
  const missing = FIELDS.filter(([, name]) => !fields.some((field) => field.name === name));
  await Promise.all(
    missing.map((field) => leadgate(env, ['field', 'create', WORKSPACE, ...field])),
  );
  // Last: with a link, the demo is whole.
  const link = await leadgate(env, ['link', 'create', WORKSPACE, '--label', 'Demo landing page']);
  return /** @type {Link} */ (link);
}
