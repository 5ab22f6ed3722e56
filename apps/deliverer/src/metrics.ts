import { createMetrics, type MetricsRegistry } from '@leadgate/boot';
import { DISABLED_AFTER_MS } from '@leadgate/delivery';
import type { DeliveryFigures, DeliveryTry } from '@leadgate/store';

export interface DelivererMetrics {
  registry: MetricsRegistry;
  observe: (one: Pick<DeliveryTry, 'outcome' | 'durationMs'>) => void;
}

const OUTCOMES = [
  ...(['delivered', 'skipped', 'answered', 'refused', 'timeout'] as const),
  ...(['no-connection', 'broken-answer'] as const),
];
/** How much of the time is gone after which an endpoint that only fails is disabled. Percent. */
export const SHARES = ['50', '70', '90'] as const;
const STATES = ['active', 'paused', 'disabled'] as const;

/** One look serves all gauges of a scrape. */
const FIGURES_LAST_MS = 1_000;

/** What monitoring sees of a deliverer, and of what waits for all of them. */
export function createDelivererMetrics(sources: {
  /** Rejects if Postgres is away. */
  figures: () => Promise<DeliveryFigures>;
  lanes: () => number;
  postgresIsAway: () => boolean;
}): DelivererMetrics {
  const registry = createMetrics('deliverer');
  let last: { at: number; figures: Promise<DeliveryFigures> } | null = null;
  const figures = () => {
    if (last === null || performance.now() - last.at > FIGURES_LAST_MS)
      last = { at: performance.now(), figures: sources.figures() };
    return last.figures;
  };
  const gauge = (name: string, help: string, read: (of: DeliveryFigures) => number) =>
    registry.gauge({ name, help, read: async () => read(await figures()) });

  gauge(
    'leadgate_deliveries_waiting',
    'Leads that endpoints are still to be told of, for all endpoints; 100000 stands for that many or more.',
    ({ waiting }) => waiting,
  );
  gauge(
    'leadgate_deliveries_set_aside',
    'Deliveries that failed for days at endpoints that took others, up to 100000; a change or an operator sends them again.',
    ({ setAside }) => setAside,
  );
  gauge(
    'leadgate_delivery_oldest_due_seconds',
    'How long the delivery is due that is due longest, of active endpoints.',
    ({ oldestSeconds }) => oldestSeconds,
  );
  registry.gauges({
    name: 'leadgate_endpoints',
    help: 'Endpoints by state.',
    label: 'state',
    values: STATES,
    read: figures,
  });
  registry.gauges({
    name: 'leadgate_endpoints_failing',
    help: 'Endpoints that have taken nothing for so much of the three days after which they are disabled, in percent.',
    label: 'share',
    values: SHARES,
    read: async () => {
      const { failingMs } = await figures();
      const past = (share: string) =>
        failingMs.filter((ms) => ms >= (Number(share) / 100) * DISABLED_AFTER_MS).length;
      return { '50': past('50'), '70': past('70'), '90': past('90') };
    },
  });
  registry.gauge({
    name: 'leadgate_lanes',
    help: 'Endpoints that this deliverer sends to now.',
    read: sources.lanes,
  });
  registry.up('Postgres', () => !sources.postgresIsAway());
  const count = registry.counters({
    name: 'leadgate_delivery_tries_total',
    help: 'Sends by what came of them; answered: with another status than 2xx.',
    label: 'outcome',
    values: OUTCOMES,
  });
  const observeDuration = registry.histogram({
    name: 'leadgate_delivery_duration_seconds',
    help: 'How long a send took, to the end of its answer.',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
  });
  return {
    registry,
    observe: ({ outcome, durationMs }) => {
      count(outcome);
      observeDuration(durationMs / 1_000);
    },
  };
}
