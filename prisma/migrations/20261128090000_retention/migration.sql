-- What was imported, by submission id: an id follows from what a row says, so that the same row
-- again changes nothing, also after its submission went.
CREATE TABLE imported_row (
  id uuid PRIMARY KEY
);
INSERT INTO imported_row SELECT id FROM submission WHERE source = 'import';

-- Retention asks for what was accepted before a moment, of rows that lie in that order.
CREATE INDEX submission_applied_at_idx ON submission USING brin (applied_at);
CREATE INDEX rejected_submission_created_at_idx ON rejected_submission USING brin (created_at);

-- How far each table was emptied.
CREATE TABLE retention (
  subject text PRIMARY KEY CHECK (subject IN ('submission', 'rejected_submission')),
  -- All that was accepted before it is gone.
  horizon timestamptz,
  -- What a run wanted beyond the bound of one run, and how far an operator lets it.
  wanted timestamptz,
  allowed timestamptz
);
INSERT INTO retention (subject) VALUES ('submission'), ('rejected_submission');
