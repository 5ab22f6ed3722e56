-- An endpoint may be another system than a webhook, by that one's own API. Which kinds there are the program knows.
ALTER TABLE endpoint ADD COLUMN kind text NOT NULL DEFAULT 'webhook';
-- By the destination's name of a field, queries over the lead; none: those of its kind.
ALTER TABLE endpoint ADD COLUMN mapping jsonb;
-- What the destination calls the lead.
ALTER TABLE delivery ADD COLUMN remote_id text;
-- The destination has no place for such a lead.
ALTER TABLE delivery_attempt DROP CONSTRAINT delivery_attempt_outcome_check;
ALTER TABLE delivery_attempt ADD CONSTRAINT delivery_attempt_outcome_check CHECK (outcome IN
  ('delivered', 'skipped', 'answered', 'refused', 'timeout', 'no-connection', 'broken-answer'));
