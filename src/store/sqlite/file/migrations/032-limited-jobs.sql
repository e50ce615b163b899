-- How many jobs of a queue wait for room in their limits.
ALTER TABLE queue ADD COLUMN limited INTEGER NOT NULL DEFAULT 0;
UPDATE queue SET limited = (
  SELECT count(*) FROM entry JOIN job_set ON job_set.id = entry."set"
  WHERE job_set.name LIKE 'limited:%' AND CASE WHEN json_valid(text) THEN
    CASE WHEN text ->> 'queue' GLOB 'p[1-9]:?*' THEN substr(text ->> 'queue', 4) ELSE text ->> 'queue' END END = queue.name
);
