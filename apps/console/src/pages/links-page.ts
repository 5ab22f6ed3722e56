import type { viewLink } from '../link-view.ts';
import { html, type Html } from './html.ts';
import { action, tableOf } from './parts.ts';

export function linksPage(links: readonly ReturnType<typeof viewLink>[], acts: boolean): Html {
  return tableOf(
    ['Link', 'Workspace', 'State', 'Mode', 'Posts to', ...(acts ? ['Act'] : [])],
    links.map((link) => [
      link.label === '' ? link.id.slice(0, 8) : link.label,
      link.workspaceName,
      html`<span class="${link.status === 'open' ? 'good' : 'warn'}">${link.status}</span>`,
      link.mode,
      html`<code>${link.captureUrl ?? link.code}</code>`,
      ...(acts ? [change(link)] : []),
    ]),
    'No capture link yet: leadgate link create WORKSPACE.',
  );
}

const change = ({ id, state }: { id: string; state: string }): Html =>
  state === 'open'
    ? action(`/links/${id}/disable`, 'Disable')
    : action(`/links/${id}/enable`, 'Enable');
