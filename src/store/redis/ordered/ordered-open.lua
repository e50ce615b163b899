-- Opens the ordered queue of a script and checks the caller's number of shards. Every script of ordered queues includes it.
--
-- KEYS are those named here; then three of each shard that the script may touch: due ids, retries, fetched ids. ARGV
-- begins with the number of shards that the caller knows, the number before if the caller believes that the
-- queue is being resharded (otherwise ""), the number of shards that it names, and which.
--
-- The queue is a hash. Its fields are shards; from (the number of shards before resharding); cursor (how far
-- resharding has moved ids); paused; tickets (the last one); named and naming (see ordered-index-names.lua); and for
-- each shard S owner:S, token:S, processed:S, failed:S, suspect:S (the id in flight runs alone) and died:S (the
-- ids that died when its owner acquired the shard, until it fetches).
--
-- A waiting id is in `ids`. It is in the due ids of one shard, or in `behind` while it is in flight as well. While
-- the index of names is kept it is also in `names`. A waiting id that has failed is in the retries of its shard: id →
-- retryCount.
--
-- An id in flight is in `flights` with "number shard token fetchedAt", where the number is that of the fetch, and its
-- record is in the fetched ids of its shard. Its ticket is that text, a space and the id.
--
-- The keys of payloads, of dead payloads and of notifications are made of a prefix and an id or owner, which callers
-- can't know beforehand.

local FIXED = 14
local QUEUE, IDS, FLIGHTS, BEHIND, NAMES, CANCELLED, MEMBERS, LEASES, PAYLOADS, NOTIFICATIONS,
  MORGUE, MORGUE_NAMES, MORGUE_ABOUT, MORGUE_PAYLOADS = unpack(KEYS, 1, FIXED)
local KINDS = {
  [QUEUE] = 'hash', [IDS] = 'hash', [FLIGHTS] = 'hash', [BEHIND] = 'zset', [NAMES] = 'zset', [CANCELLED] = 'hash',
  [MEMBERS] = 'set', [LEASES] = 'zset', [MORGUE] = 'zset', [MORGUE_NAMES] = 'zset', [MORGUE_ABOUT] = 'hash',
}
local MORGUE_KEYS = { MORGUE, MORGUE_NAMES, MORGUE_ABOUT }
local SHARD_KINDS = { 'zset', 'zset', 'hash' }
local DUE, RETRIES, FETCHED = {}, {}, {}
local shards, from
-- The time until which the index of names is kept (ms of this server), or nil.
local named

-- Returns the first of these keys that has the wrong type.
local function wrongKey(keys)
  for _, key in ipairs(keys) do
    if wrong(key, KINDS[key]) then return key end
  end
end

-- Checks the keys and the number of shards. Returns the answer of the script when that number is outdated. A script that
-- does not touch all keys can name those that it does: fixed keys (`touched`), and types of the keys of each shard.
local function opened(touched, ofShard)
  if not touched then
    touched = {}
    for key in pairs(KINDS) do touched[#touched + 1] = key end
  end
  refuse(wrongKey(touched))
  local believed, before, at = text(), text(), FIXED
  for i = 1, number() do
    local shard = number()
    for j, kind in ipairs(ofShard or SHARD_KINDS) do refuse(wrong(KEYS[at + j], kind)) end
    DUE[shard], RETRIES[shard], FETCHED[shard] = KEYS[at + 1], KEYS[at + 2], KEYS[at + 3]
    at = at + 3
  end
  local stored = redis.call('HMGET', QUEUE, 'shards', 'from', 'named')
  if stored[1] ~= believed or (stored[2] or '') ~= before then return { 'moved', stored[1] or '', stored[2] or '' } end
  shards, from, named = tonumber(believed), tonumber(before), tonumber(stored[3] or nil)
end

local NIBBLES = {
  [0] = 0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
  0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
}

local function crcOf(id)
  local crc = -1
  for i = 1, #id do
    crc = bit.bxor(crc, string.byte(id, i))
    crc = bit.bxor(bit.rshift(crc, 4), NIBBLES[bit.band(crc, 15)])
    crc = bit.bxor(bit.rshift(crc, 4), NIBBLES[bit.band(crc, 15)])
  end
  return bit.bnot(crc) % 4294967296
end

-- Returns the shard of an id, and while the queue is resharded the shard where the id may still be.
local function homesOf(id)
  local crc = crcOf(id)
  local home, old = crc % shards, from and crc % from
  return home, old ~= home and old or nil
end

-- Returns whether the owner has its lease.
local function holds(owner)
  return tonumber(redis.call('ZSCORE', LEASES, owner) or -1) >= 0
end
