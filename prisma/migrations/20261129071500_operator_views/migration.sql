-- Filters of leads that an operator keeps under a name. None holds a value of a person.
ALTER TABLE operator ADD COLUMN views jsonb NOT NULL DEFAULT '[]';
