-- Accepted submissions that were found nowhere when their turn had come. `failed`: they have a job of their own
-- that failed or is tried again. `missing`: neither stored nor waiting.
CREATE TABLE ledger_open (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL,
  link_id uuid NOT NULL,
  state text NOT NULL CHECK (state IN ('failed', 'missing')),
  since timestamptz NOT NULL DEFAULT now()
);
