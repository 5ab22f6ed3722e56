-- The span of the commit that a delivery is of, if that was traced.
ALTER TABLE "delivery" ADD COLUMN "traceparent" TEXT;
