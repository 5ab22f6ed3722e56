-- What stays of a workspace that was removed: what comes late of it (a job that runs again, a drained spool)
-- is dropped by its id. Without it, a workspace that an older dump does not have would be taken for one.
CREATE TABLE removed_workspace (
  id uuid PRIMARY KEY,
  removed_at timestamptz NOT NULL DEFAULT now()
);
