import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, use } from 'react';
import { useSearchParams } from 'wouter';
import { type Answer, api } from './api.ts';
import { keepLookedAt, lookedAt } from './asked.ts';
import { Failure, Waiting } from './parts/standing.tsx';

type Me = Answer<'/api/me', 'get'>;
export type Workspace = Answer<'/api/workspaces', 'get'>[number];
export type Role = NonNullable<Me['role']>;

export const ROLES = ['viewer', 'operator', 'administrator'] as const satisfies readonly Role[];
const rankOf = (role: Role | null): number => (role === null ? -1 : ROLES.indexOf(role));

interface Session {
  me: Me;
  workspaces: readonly Workspace[];
  /** The one that is looked at: of the address, else the last one that was; null if there is none. */
  workspace: Workspace | null;
  look: (workspaceId: string) => void;
  /** Whether the reader has a role there; without a workspace: for all of them. */
  may: (role: Role, workspaceId?: string) => boolean;
}

const SessionContext = createContext<Session | null>(null);

/** Who reads the pages, what they may, and which workspace they look at. */
export function useSession(): Session {
  const session = use(SessionContext);
  if (session === null) throw new Error('a page outside of a session');
  return session;
}

export function SessionProvider({ children }: { children: ReactNode }) {
  const [params, setParams] = useSearchParams();
  const me = useQuery({
    queryKey: ['/api/me'],
    queryFn: () => api.get('/api/me'),
    initialData: leadgate.answered.me,
    staleTime: 300_000,
  });
  const workspaces = useQuery({
    queryKey: ['/api/workspaces'],
    queryFn: () => api.get('/api/workspaces'),
    initialData: leadgate.answered.workspaces,
    staleTime: 60_000,
  });
  if (me.isError || workspaces.isError)
    return <Failure error={me.error ?? workspaces.error} again={() => location.reload()} />;
  if (me.data === undefined || workspaces.data === undefined) return <Waiting />;
  const all = workspaces.data;
  const who = me.data;
  const session: Session = {
    me: who,
    workspaces: all,
    workspace: lookedAt(all, params) ?? null,
    look(workspaceId) {
      keepLookedAt(workspaceId);
      setParams({ workspace: workspaceId });
    },
    may(role, workspaceId) {
      const there = who.workspaces.find((one) => one.workspaceId === workspaceId);
      return Math.max(rankOf(who.role), rankOf(there?.role ?? null)) >= rankOf(role);
    },
  };
  return <SessionContext value={session}>{children}</SessionContext>;
}
