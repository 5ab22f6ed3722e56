-- What a group commit counted, a row for each workspace, beside `tally`, which has a row for each count: as
-- many rows as counts took longer to write than to count. `counts`: of each link and minute (milliseconds since
-- 1970) an array of what, how often and, if it is counted by campaign, the last touch's three names.
CREATE TABLE tally_group (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  workspace_id uuid NOT NULL,
  counts json NOT NULL
);
