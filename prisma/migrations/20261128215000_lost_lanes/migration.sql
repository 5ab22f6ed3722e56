-- When sends to it were last left without an answer, by a deliverer that died or was stopped: what they brought may
-- be taken late.
ALTER TABLE endpoint ADD COLUMN lane_lost_at timestamptz;
