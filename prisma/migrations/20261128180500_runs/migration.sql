-- What takes long: replays, imports. The process that began or resumed one does it, and says here that it
-- still does; what others ask of it, it reads here.
CREATE TABLE run (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspace (id),
  kind text NOT NULL,
  -- Ids, times and settings: no personal data.
  parameters jsonb NOT NULL,
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'stopped', 'failed', 'done')),
  stop_asked boolean NOT NULL DEFAULT false,
  -- The process that does it. Another one may take it over once this is silent.
  runner uuid NOT NULL,
  -- Counts, by names of the kind.
  progress jsonb NOT NULL DEFAULT '{}',
  -- Where it goes on, as its kind reads it.
  cursor text,
  problem text,
  begun_by_kind text NOT NULL,
  begun_by text NOT NULL,
  begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz,
  -- What it leaves to be fetched, such as rows that were refused. An erasure in the workspace takes it,
  -- and has those that go on leave none.
  file_name text,
  file text,
  keeps_file boolean NOT NULL DEFAULT true
);
CREATE INDEX run_workspace_idx ON run (workspace_id, begun_at DESC);
CREATE INDEX run_begun_idx ON run (begun_at DESC);
