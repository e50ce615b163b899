-- A pack of finished jobs has what its jobs have in common once, and the size of their set is that of its rows. The jobs of all packs
-- become rows.
INSERT INTO hk_entry ("set", score, text)
SELECT -1, pack.scores ->> spans.key, CAST(substr(pack.texts, (spans.value >> 25) + 1, spans.value & 33554431) AS TEXT)
FROM hk_finished_pack AS pack, json_each(pack.spans) AS spans
WHERE true ON CONFLICT DO NOTHING;
UPDATE hk_job_set SET size = (SELECT count(*) FROM hk_entry WHERE "set" = -1) WHERE id = -1;
DROP TABLE hk_finished_pack;
CREATE TABLE hk_finished_pack (
  id     INTEGER PRIMARY KEY,
  size   INTEGER NOT NULL,
  oldest REAL NOT NULL,
  newest REAL NOT NULL,
  runs   TEXT NOT NULL,
  texts  TEXT NOT NULL
) STRICT;
