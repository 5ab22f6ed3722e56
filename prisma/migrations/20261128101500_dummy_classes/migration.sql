-- Classes of telephones that identify nobody in a workspace. None by default: every number is a key.
ALTER TABLE workspace ADD COLUMN dummy_classes text[] NOT NULL DEFAULT '{}'
  CHECK (dummy_classes <@ ARRAY['repeated', 'impossible']);
