-- When an operator said that nothing is to become of a refused body.
ALTER TABLE rejected_submission ADD COLUMN dismissed_at timestamptz(6);
