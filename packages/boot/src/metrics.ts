import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { answerWithin } from './within-time.ts';

interface Named {
  /** As Prometheus names metrics: `leadgate_…`, with the unit, `_total` for counters. */
  name: string;
  help: string;
}

/** The label of a metric with every value that it can have: the number of series is bounded. */
interface Labelled<Value extends string> {
  label: string;
  values: readonly Value[];
}

/** A number that is looked up when somebody asks; null if it is not known now. */
export interface GaugeDefinition extends Named {
  read: () => Promise<number | null> | number | null;
}

/** Numbers by the value of a label, looked up when somebody asks. */
export interface GaugesDefinition<Value extends string> extends Named, Labelled<Value> {
  read: () => Promise<Readonly<Record<Value, number>> | null>;
}

/** The metrics of one process. A name is registered once. */
export interface MetricsRegistry {
  counter(definition: Named): (by?: number) => void;
  /** Every value of the label starts at 0. Others are not counted. */
  counters<Value extends string>(
    definition: Named & Labelled<Value>,
  ): (value: Value, by?: number) => void;
  histogram(definition: Named & { buckets: number[] }): (value: number) => void;
  gauge(definition: GaugeDefinition): void;
  gauges<Value extends string>(definition: GaugesDefinition<Value>): void;
  /** The exposition format of Prometheus. Never rejects because of one that cannot be read. */
  text(): Promise<string>;
  contentType: string;
  /** The names of all metrics, those of Node included. */
  names(): string[];
}

/** A gauge that does not answer must not keep the others from being read. */
const READ_TIMEOUT_MS = 2_000;

/** A registry with the metrics of the process itself, event-loop delay and memory among them. */
export function createMetrics(service: string): MetricsRegistry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    counter(definition) {
      const counter = new Counter({ ...definition, registers });
      return (by = 1) => counter.inc(by);
    },
    counters({ name, help, label, values }) {
      const counter = new Counter({ name, help, labelNames: [label], registers });
      for (const value of values) counter.inc({ [label]: value }, 0);
      const known = new Set<string>(values);
      return (value, by = 1) => {
        if (known.has(value)) counter.inc({ [label]: value }, by);
      };
    },
    histogram(definition) {
      const histogram = new Histogram({ ...definition, registers });
      return (value) => histogram.observe(value);
    },
    gauge({ name, help, read }) {
      const gauge: Gauge = new Gauge({
        name,
        help,
        registers,
        collect: async () => {
          gauge.set((await answerWithin(asked(read), READ_TIMEOUT_MS)) ?? Number.NaN);
        },
      });
    },
    gauges({ name, help, label, values, read }) {
      const gauge: Gauge = new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        collect: async () => {
          const numbers = await answerWithin(asked(read), READ_TIMEOUT_MS);
          for (const value of values) gauge.set({ [label]: value }, numbers?.[value] ?? Number.NaN);
        },
      });
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
    names: () => registry.getMetricsAsArray().map(({ name }) => name),
  };
}

/** Asks so that what is thrown at once fails as what is thrown later. */
const asked = async <T>(read: () => Promise<T> | T): Promise<T> => read();
