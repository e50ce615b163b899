-- A ticket has the number of its fetch. The functions of steps have other arguments; no published version calls the former ones.
-- A process that still calls them gets an error that says to update.
ALTER TABLE hk.fetched ADD COLUMN fetch_number bigint NOT NULL DEFAULT 0;
ALTER TABLE hk.fetched ALTER COLUMN fetch_number DROP DEFAULT;
DROP FUNCTION hk.step_plain(bigint, text, bigint[], bigint[], text, text[], bigint);
DROP FUNCTION hk.step_rows(
  bigint, text, bigint[], bigint[], text, text[], bigint, bigint, bigint, text[],
  text[], bigint[], integer[], integer[], bigint[],
  text[], bigint[], integer[], integer[], bigint[], bigint[], smallint[], text[], text[],
  text[], bigint[], bigint[], text[], text[], bigint, bigint
);
