-- Finds finished jobs by their jids.
CREATE INDEX hk_finished_by_jid ON hk_entry (
  CASE WHEN instr(substr(text, instr(text, '"jid"') + 5), '"jid"') > 0 THEN '' ELSE substr(
    ltrim(substr(text, instr(text, '"jid"') + 5), ': ' || char(9, 10, 13)),
    2,
    min(instr(substr(ltrim(substr(text, instr(text, '"jid"') + 5), ': ' || char(9, 10, 13)), 2), '"') - 1, 100)
  ) END
) WHERE "set" = -1;
