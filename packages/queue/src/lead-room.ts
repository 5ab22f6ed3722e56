/** How many leads a worker has in hand, and how many jobs it may therefore hold. */
export interface LeadRoom {
  /** A job of so many leads was taken. */
  enter(leads: number): void;
  /** It is done with. */
  leave(leads: number): void;
  /** Resolves when its leads may be unpacked: there is room for them, or no other is unpacked. */
  unpack(leads: number): Promise<void>;
  /** What was unpacked is done with. */
  release(leads: number): void;
  /** From now on; what is held beyond it stays. */
  allow(leads: number): void;
}

/** BullMQ takes as many jobs as it may before it begins with the first. */
const TAKEN_AT_ONCE = 10;

/** How much the last job counts in what jobs carry on average. */
const WEIGHT_OF_LAST = 0.2;

/**
 * Keeps the leads in hand at about `limit`. How many a job carries is known once it is taken, so the
 * jobs that may be held are told again with each one: those held, and as many more as fit when they
 * are like the last ones.
 */
export function createLeadRoom(limit: number, onJobs: (jobs: number) => void): LeadRoom {
  let jobs = 0;
  let held = 0;
  let unpacked = 0;
  let average = 1;
  const waiting: { leads: number; enter: () => void }[] = [];

  const tell = (): void => {
    const more = Math.ceil(Math.max(0, limit - held) / average);
    onJobs(Math.max(1, jobs + Math.min(more, TAKEN_AT_ONCE)));
  };
  const letIn = (): void => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (unpacked > 0 && unpacked + next.leads > limit) return;
      unpacked += next.leads;
      waiting.shift();
      next.enter();
    }
  };
  return {
    enter(leads) {
      jobs += 1;
      held += leads;
      average += WEIGHT_OF_LAST * (leads - average);
      tell();
    },
    leave(leads) {
      jobs -= 1;
      held -= leads;
      tell();
    },
    unpack: (leads) =>
      new Promise((enter) => {
        waiting.push({ leads, enter });
        letIn();
      }),
    release(leads) {
      unpacked -= leads;
      letIn();
    },
    allow(leads) {
      limit = leads;
      tell();
      letIn();
    },
  };
}
