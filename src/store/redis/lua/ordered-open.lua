-- What every script of an ordered queue begins with. KEYS are those named here; then of each shard that it may touch what
-- is due, its retries and what was taken from it. ARGV begins with: how many shards the caller believes there are, how many
-- there were before if it believes that they are being changed ("" else), how many shards it names, and which.
--
-- The queue is a hash: shards, from, cursor (of what is being moved), paused, tickets (the last one), named and naming (see
-- ordered-name.lua), and for each shard owner:S, token:S, processed:S, failed:S, suspect:S (there: the id in flight runs
-- alone), died:S (what its owner has heard of who died, if it has).
-- An id that waits is in `ids`, and either in what is due of one shard or, as long as it is in flight, behind; and while
-- somebody goes through them by name in `names`.
-- What waits in a shard and has failed is in its retries: id → retryCount.
-- An id in flight is in `flights` with "number shard token takenAt" (the number is that of the take), and with all that was
-- taken in its shard's `taken`. Its ticket is that, a space and the id.
-- A payload's key, the morgue's and a bell's are made of a stem and an id or owner, which no caller knows beforehand.

local FIXED = 14
local QUEUE, IDS, FLIGHTS, BEHIND, NAMES, CANCELLED, MEMBERS, LEASES, PAYLOADS, BELL,
  MORGUE, MORGUE_NAMES, MORGUE_ABOUT, MORGUE_PAYLOADS = unpack(KEYS, 1, FIXED)
local KINDS = {
  [QUEUE] = 'hash', [IDS] = 'hash', [FLIGHTS] = 'hash', [BEHIND] = 'zset', [NAMES] = 'zset', [CANCELLED] = 'hash',
  [MEMBERS] = 'set', [LEASES] = 'zset', [MORGUE] = 'zset', [MORGUE_NAMES] = 'zset', [MORGUE_ABOUT] = 'hash',
}
local MORGUE_KEYS = { MORGUE, MORGUE_NAMES, MORGUE_ABOUT }
local SHARD_KINDS = { 'zset', 'zset', 'hash' }
local DUE, RETRIES, TAKEN = {}, {}, {}
local shards, from
-- Until when `names` is kept (ms of this server), or nothing.
local named

-- The first of these keys that holds something else than what belongs there.
local function wrongKey(keys)
  for _, key in ipairs(keys) do
    if wrong(key, KINDS[key]) then return key end
  end
end

-- Answers what is to be answered instead, if nothing can be done: an error, or how many shards there are. What a script
-- does not touch can be left out of what is looked at: of the fixed keys (`touched`), and of each shard's.
local function opened(touched, ofShard)
  if not touched then
    touched = {}
    for key in pairs(KINDS) do touched[#touched + 1] = key end
  end
  local key = wrongKey(touched)
  if key then return redis.error_reply(unusable(key)) end
  local believed, before, at = text(), text(), FIXED
  for i = 1, number() do
    local shard = number()
    for j, kind in ipairs(ofShard or SHARD_KINDS) do
      if wrong(KEYS[at + j], kind) then return redis.error_reply(unusable(KEYS[at + j])) end
    end
    DUE[shard], RETRIES[shard], TAKEN[shard] = KEYS[at + 1], KEYS[at + 2], KEYS[at + 3]
    at = at + 3
  end
  local told = redis.call('HMGET', QUEUE, 'shards', 'from', 'named')
  if told[1] ~= believed or (told[2] or '') ~= before then return { 'moved', told[1] or '', told[2] or '' } end
  shards, from, named = tonumber(believed), tonumber(before), tonumber(told[3] or nil)
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

-- The shard where an id belongs, and while shards are being changed the one where it may still be.
local function homesOf(id)
  local crc = crcOf(id)
  local home, old = crc % shards, from and crc % from
  return home, old ~= home and old or nil
end

-- Whether an owner's lease was not taken away.
local function holds(owner)
  return tonumber(redis.call('ZSCORE', LEASES, owner) or -1) >= 0
end
