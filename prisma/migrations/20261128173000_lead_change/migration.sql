-- What changed, by the transaction that changed it: programs that ask read on from where they were. A row a
-- transaction and workspace, kept for 15 days.
CREATE TABLE lead_change (
  workspace_id uuid NOT NULL,
  -- pg_current_xact_id(): all below the xmin of a snapshot have ended, so none comes in below it later. A
  -- sequence has no such line: what took the lower number may be committed last.
  xid bigint NOT NULL,
  lead_ids uuid[] NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, xid)
);
CREATE INDEX lead_change_at_idx ON lead_change USING brin (at);
