-- Plain jobs of one push are stored in packs. No published version calls hk.push_plain, or reads hk.ready alone.
DROP FUNCTION IF EXISTS hk.push_plain(bigint, text, text, bigint);
CREATE TABLE hk.pack (
  queue    bigint NOT NULL,
  position bigint NOT NULL,
  text     text COLLATE "C" NOT NULL,
  PRIMARY KEY (queue, position)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
ALTER SEQUENCE hk.back_position INCREMENT BY 8;
