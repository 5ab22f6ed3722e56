-- The highest order of each workspace among the submissions that retention let go: a Redis that is older
-- is told by it, also where no submission is left.
CREATE TABLE order_kept (
  workspace_id uuid PRIMARY KEY,
  highest bigint NOT NULL
);
