-- A link whose new posts lack what nearly all had, or nearly all have what is no field.
ALTER TABLE alarm DROP CONSTRAINT alarm_kind_check;
ALTER TABLE alarm ADD CONSTRAINT alarm_kind_check CHECK (
  kind IN ('silence', 'drift', 'refusals', 'ledger', 'deliveries', 'queue'));

-- Which fields the posts of a link have, as shares: no values.
CREATE TABLE link_shape (
  link_id uuid PRIMARY KEY,
  shape jsonb NOT NULL,
  drifted boolean NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX link_shape_drifted_idx ON link_shape (link_id) WHERE drifted;
