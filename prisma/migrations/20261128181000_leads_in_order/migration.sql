-- The leads of a workspace in the order they were stored, which nothing changes: lists go page by page.
CREATE INDEX lead_created_idx ON lead (workspace_id, created_at, id) WHERE merged_into IS NULL;
