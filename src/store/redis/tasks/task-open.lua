-- Opens the ledger of scripts that change one task. Include it last.
--
-- KEYS  1 to 11 are the keys of the task (ledger.lua), 12 is queues, 13 is the producers (task and producer → kind).
-- ARGV  begins with now (ms).

QUEUES = KEYS[12]
now = number()
refuse(wrongTask(1))
local ledger = ledgerOf(1)
