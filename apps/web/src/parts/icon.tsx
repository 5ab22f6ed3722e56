/** Strokes on a grid of 24. */
const PATHS = {
  overview: 'M4 20V10M10 20V4M16 20v-7M22 20H2',
  leads:
    'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM2 21a7 7 0 0 1 14 0M16 3.5a4 4 0 0 1 0 7M18 14.5a7 7 0 0 1 4 6.5',
  inbox: 'M3 13l3-8h12l3 8v6H3v-6h5l1.5 3h5L16 13h5',
  links:
    'M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-5.7-5.7l-1.2 1.2M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 5.7 5.7l1.2-1.2',
  imports: 'M12 3v12M7 10l5 5 5-5M4 20h16',
  deliveries: 'M22 3 11 14M22 3l-7 19-4-8-8-4 19-7Z',
  queue: 'M4 6h16M4 12h16M4 18h10',
  live: 'M3 12h4l3 8 4-16 3 8h4',
  audit: 'M6 3h9l4 4v14H6V3ZM9 11h7M9 15h7',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4 21a8 8 0 0 1 16 0',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM21 21l-4.5-4.5',
  filter: 'M3 5h18M7 12h10M10 19h4',
  columns: 'M4 4h16v16H4V4ZM10 4v16M15 4v16',
  download: 'M12 3v12M7 10l5 5 5-5M4 20h16',
  saved: 'M6 3h12v18l-6-5-6 5V3Z',
  copy: 'M9 9h11v11H9V9ZM5 15H4V4h11v1',
  done: 'M5 13l4 4L19 7',
  warning: 'M12 4 2 20h20L12 4ZM12 10v4M12 17v.5',
  erase: 'M4 7h16M9 7V4h6v3M6 7l1 14h10l1-14M10 11v6M14 11v6',
  back: 'M15 5l-7 7 7 7',
  next: 'M9 5l7 7-7 7',
  down: 'M5 9l7 7 7-7',
  post: 'M3 6h18v12H3V6ZM3 7l9 6 9-6',
  merge: 'M6 3v4a6 6 0 0 0 6 6 6 6 0 0 1 6 6v2M18 3v4a6 6 0 0 1-6 6',
  consent: 'M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6l8-3ZM9 12l2 2 4-4',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  plus: 'M12 5v14M5 12h14',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5 19 19M5 19l1.5-1.5M17.5 6.5 19 5',
  moon: 'M20 14A8 8 0 1 1 10 4a7 7 0 0 0 10 10Z',
  sender: 'M4 17l6-5-6-5M12 19h8',
  key: 'M14 10a4 4 0 1 0-4 4 4 4 0 0 0 4-4ZM13 12l8 0M18 12v3M21 12v3',
  settings:
    'M4 7h9M17 7h3M4 17h3M11 17h9M15 9a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM9 19a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z',
  again: 'M4 12a8 8 0 0 1 14-5l2 2M20 4v5h-5M20 12a8 8 0 0 1-14 5l-2-2M4 20v-5h5',
  pause: 'M8 5v14M16 5v14',
  play: 'M7 4l13 8-13 8V4Z',
  file: 'M6 3h8l4 4v14H6V3ZM14 3v4h4',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 7v5l3 2',
} as const;

export type IconName = keyof typeof PATHS;

/** Beside words that say the same: nothing for who listens. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'more' ? 3 : 1.75}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden
      focusable="false"
      className="icon"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
