-- Of an erased lead the emails are among them until they are erased there: ANALYZE keeps no samples. No plan rests on
-- what is known of this column. The type that it has: nothing is rewritten, and what was known of it goes.
ALTER TABLE "delivery" ALTER COLUMN "remote_ids" SET STATISTICS 0;
ALTER TABLE "delivery" ALTER COLUMN "remote_ids" TYPE TEXT[];
