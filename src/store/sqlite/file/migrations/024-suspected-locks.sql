-- What a lock of a unique job says beside its holder; see schema.sql.
ALTER TABLE unique_lock ADD COLUMN outlives INTEGER NOT NULL DEFAULT 0 CHECK (outlives IN (0, 1));
ALTER TABLE unique_lock ADD COLUMN suspicion TEXT;
ALTER TABLE unique_lock ADD COLUMN due REAL;
