-- What somebody should look at: opened and closed by workers.
CREATE TABLE alarm (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  kind text NOT NULL CHECK (kind IN ('silence', 'refusals', 'ledger', 'deliveries', 'queue')),
  -- A link, an endpoint, or the queue.
  subject text NOT NULL,
  -- None: it is about the installation.
  workspace_id uuid,
  facts jsonb NOT NULL DEFAULT '{}',
  opened_at timestamptz NOT NULL DEFAULT now(),
  closed_at timestamptz
);
CREATE UNIQUE INDEX alarm_open_idx ON alarm (kind, subject) WHERE closed_at IS NULL;
CREATE INDEX alarm_opened_at_idx ON alarm (opened_at);

-- Links that are told to be quiet: their silence is meant.
CREATE TABLE link_quiet (
  link_id uuid PRIMARY KEY,
  until timestamptz NOT NULL
);
