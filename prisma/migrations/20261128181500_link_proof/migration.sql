-- How a link's sender proves that a body is its own: {"by": {...}, "secret": "..."}; null: anyone may send.
ALTER TABLE capture_link ADD COLUMN proof jsonb;
