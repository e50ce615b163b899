-- Reads of packs stop at the last job that they return, and a fetch passes dead rows once. An older process ignores what
-- hk.unpack_next returns.
DROP FUNCTION hk.unpack_next(text[], bigint);
