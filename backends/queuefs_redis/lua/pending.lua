-- Of messages in the counts. meta: 'enqueued priority attempt claims size crc'.
local META = '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$'

-- Puts a message into its place; one without meta can't be handed out, and is set aside.
local function make_pending(queue, id, meta)
  if meta then
    local _, priority = string.match(meta, META)
    redis.call('ZADD', key(queue, 'pending'), digits(0 - priority), id)
  else
    redis.call('ZADD', key(queue, 'aside'), 0, id)
  end
end

-- Back from processing. The first write, ZREM, is one that a full server allows.
local function give_back(queue, id, meta)
  redis.call('ZREM', key(queue, 'processing'), id)
  make_pending(queue, id, meta)
end

-- The same, and the claim was no attempt.
local function undo(queue, id, meta)
  give_back(queue, id, meta)
  if meta then
    local enqueued, priority, attempt, claims, size, crc = string.match(meta, META)
    local fewer = table.concat({enqueued, priority, digits(attempt - 1), claims, size, crc}, ' ')
    redis.call('HSET', key(queue, 'meta'), id, fewer)
  end
end

-- How a reference stands: D (can be settled), S (stale) or U (unknown), and the message's meta. claim '' means whatever
-- claim there is.
local function standing(queue, id, claim)
  local meta = redis.call('HGET', key(queue, 'meta'), id)
  if not redis.call('ZSCORE', key(queue, 'processing'), id) then
    local there = meta or redis.call('ZSCORE', key(queue, 'aside'), id)
    return there and 'S' or 'U', meta
  end
  if claim ~= '' and meta then
    local _, _, _, claims = string.match(meta, META)
    return claims == claim and 'D' or 'S', meta
  end
  return 'D', meta
end

-- `leases` holds for each queue a time before which no lease of it ends; it may be too early, never too late.
local function note_lease(queue, until_)
  redis.call('ZADD', P .. 'leases', 'LT', until_, queue)
end
