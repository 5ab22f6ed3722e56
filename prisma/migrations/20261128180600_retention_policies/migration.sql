-- For how long a workspace keeps a kind of data, if it is not as long as the installation does.
CREATE TABLE retention_policy (
  workspace_id uuid NOT NULL REFERENCES workspace (id),
  kind text NOT NULL CHECK (kind IN ('leads', 'submissions', 'rejected', 'consents')),
  days integer NOT NULL CHECK (days BETWEEN 1 AND 36500),
  set_at timestamptz NOT NULL DEFAULT now(),
  -- As of tables in `retention`: up to when it was let go, what a run was not allowed, how far one is.
  horizon timestamptz,
  wanted timestamptz,
  allowed timestamptz,
  PRIMARY KEY (workspace_id, kind)
);

-- For how many days workers keep it if a workspace does not say; null: for good.
ALTER TABLE retention ADD COLUMN days integer;
