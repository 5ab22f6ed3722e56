-- Whose data was erased, when, why and by whom: what an id that was once answered still tells.
CREATE TABLE erasure (
  workspace_id uuid NOT NULL,
  lead_id uuid NOT NULL,
  -- Microseconds since 1970: what the person sent up to then is dropped, whichever way it comes.
  erased_order bigint NOT NULL,
  reason text NOT NULL,
  erased_by text NOT NULL,
  erased_at timestamptz NOT NULL DEFAULT now(),
  -- Tells under which key the hashes of the tombstones are; nothing of the key.
  key_check text NOT NULL,
  PRIMARY KEY (workspace_id, lead_id, erased_order)
);
