-- A workspace whose people are invented: pages say so, and `leadgate demo remove` takes it. begun: it is being
-- filled; full: it is.
ALTER TABLE workspace ADD COLUMN demo text CHECK (demo IN ('begun', 'full'));
