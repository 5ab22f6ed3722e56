-- How the bodies of a sender with names of its own are read; null: by a lead's own names.
ALTER TABLE capture_link ADD COLUMN mapping jsonb;
