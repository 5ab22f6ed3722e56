import { useEffect, useState } from 'react';
import type { Answer } from './api.ts';

/** What is shown of something that happened. */
export interface Happening {
  key: string;
  kind: keyof Events;
  at: string;
  linkId: string | null;
  /** What it is about, as a person reads it; for who may, whom. */
  about: string;
  href: string;
}

const MOST = 12;

/** An event of the stream by its name: what the lists of the API have of the same thing. */
interface Events {
  submission: { submission: Answer<'/api/submissions', 'get'>[number] };
  rejected: { rejected: Answer<'/api/rejected', 'get'>[number] };
  failed: Answer<'/api/failed', 'get'>[number];
}

const READ: { [K in keyof Events]: (event: Events[K]) => Omit<Happening, 'kind'> } = {
  submission({ submission: { submissionId, acceptedAt, linkId, leadId, lead } }) {
    const { name, email, telephone } = lead;
    const known = [name, email, telephone].find((one) => typeof one === 'string');
    const about = known === undefined ? leadId.slice(0, 8) : String(known);
    return { key: submissionId, at: acceptedAt, linkId, about, href: `/leads/${leadId}` };
  },
  rejected({ rejected: { rejectedId, at, linkId, code, errors } }) {
    const about = errors.map((one) => `${one.pointer.slice(1)} ${one.code}`.trim()).join(', ');
    return {
      key: rejectedId,
      at,
      linkId,
      about: about || code,
      href: `/inbox/refused?post=${rejectedId}`,
    };
  },
  failed: ({ jobId, reason, failedAt }) => ({
    ...{ key: jobId, at: failedAt, linkId: null, about: reason, href: '/inbox/failed' },
  }),
};

/** What happens in a workspace from now on, the newest first; `state`: whether it is told. */
export function useTail(workspaceId: string): {
  state: 'connecting' | 'following' | 'ended';
  happenings: readonly Happening[];
} {
  const [state, setState] = useState<'connecting' | 'following' | 'ended'>('connecting');
  const [happenings, setHappenings] = useState<readonly Happening[]>([]);
  useEffect(() => {
    const source = new EventSource(`/api/tail?workspaceId=${workspaceId}`);
    source.onopen = () => setState('following');
    source.onerror = () =>
      setState(source.readyState === EventSource.CLOSED ? 'ended' : 'connecting');
    const hear = <K extends keyof Events>(kind: K) =>
      source.addEventListener(kind, ({ data }: MessageEvent<string>) => {
        const happening = { kind, ...READ[kind](JSON.parse(data) as Events[K]) };
        setHappenings((all) => [happening, ...all].slice(0, MOST));
      });
    hear('submission');
    hear('rejected');
    hear('failed');
    return () => source.close();
  }, [workspaceId]);
  return { state, happenings };
}
