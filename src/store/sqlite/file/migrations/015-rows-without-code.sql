-- Rejected rows without a code are read by it, too.
DROP INDEX coded_event;
CREATE INDEX coded_event ON event (task, code, idx) WHERE status >= 3;
