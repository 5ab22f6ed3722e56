import { useSearchParams } from 'wouter';

/** What the address says after its `?`, and what changes some of it; an empty value takes a name out. */
export function useAddress() {
  const [params, setParams] = useSearchParams();
  const set = (changes: Readonly<Record<string, string | null>>, replace = false) =>
    setParams(
      (now) => {
        const next = new URLSearchParams(now);
        for (const [name, value] of Object.entries(changes))
          if (value === null || value === '') next.delete(name);
          else next.set(name, value);
        return next;
      },
      { replace },
    );
  return { params, set };
}
