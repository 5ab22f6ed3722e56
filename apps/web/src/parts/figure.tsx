import type { ReactNode } from 'react';

/** One number that is looked at first, and what it is compared with. */
export function Figure({
  name,
  value,
  children,
  tone,
}: {
  name: string;
  value: string;
  children?: ReactNode;
  tone?: 'good' | 'warn' | 'bad' | undefined;
}) {
  return (
    <div className="card figure">
      <dt>{name}</dt>
      <dd>
        <strong data-tone={tone}>{value}</strong>
        <span className="soft">{children}</span>
      </dd>
    </div>
  );
}
