-- Carries out one step of a worker in which all settled jobs finished without effects, then fetches.
--
-- KEYS, ARGV and the answer are those of `shortStep`.
-- include: arguments step

return shortStep(5)
