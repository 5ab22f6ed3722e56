-- A lead whose email changed, or that another was merged into, has several contacts at a destination.
ALTER TABLE "delivery" ADD COLUMN "remote_ids" TEXT[] NOT NULL DEFAULT '{}';
UPDATE "delivery" SET "remote_ids" = ARRAY["remote_id"] WHERE "remote_id" IS NOT NULL;
ALTER TABLE "delivery" DROP COLUMN "remote_id";
