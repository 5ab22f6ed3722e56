#!/bin/sh
# Run once by the image of Postgres, after roles.sql: the passwords of its roles, from the environment.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  --set owner="$POSTGRES_OWNER_PASSWORD" --set application="$POSTGRES_APP_PASSWORD" <<'SQL'
ALTER ROLE leadgate_owner PASSWORD :'owner';
ALTER ROLE leadgate_app PASSWORD :'application';
SQL
