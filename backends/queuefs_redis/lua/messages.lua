-- Of messages that are published. meta: these fields, and then key, reason and extra without anything in between.
local META = '^' .. string.rep('(%S+) ', 11) .. '(.*)$'

local function read_meta(text)
  local m = {}
  m.enqueued, m.priority, m.attempt, m.claims, m.size, m.crc, m.due, m.expires, m.flag, m.key_size, m.reason_size, m.rest =
    string.match(text, META)
  return m
end

local function write_meta(part, queue, id, m)
  redis.call('HSET', key(queue, part), id, table.concat({m.enqueued, m.priority, m.attempt, m.claims, m.size, m.crc,
    m.due, m.expires, m.flag, m.key_size, m.reason_size, m.rest}, ' '))
end

local function meta_of(queue, id)
  local text = redis.call('HGET', key(queue, 'meta'), id)
  return text and read_meta(text)
end

-- Its key; nil if it has none.
local function key_of(m)
  return m.key_size ~= '-' and string.sub(m.rest, 1, tonumber(m.key_size)) or nil
end

local function set_reason(m, reason)
  local key_size = m.key_size == '-' and 0 or tonumber(m.key_size)
  local old_size = m.reason_size == '-' and 0 or tonumber(m.reason_size)
  m.rest = string.sub(m.rest, 1, key_size) .. reason .. string.sub(m.rest, key_size + old_size + 1)
  m.reason_size = digits(#reason)
end

local function count(queue, what, number)
  if number ~= 0 then
    redis.call('HINCRBY', key(queue, 'sums'), what, digits(number))
  end
end

-- `leases`, `delays` and `lapses` hold for each queue a time before which nothing of it is due; it may be too early,
-- never too late.
local function note(what, queue, at)
  redis.call('ZADD', P .. what, 'LT', at, queue)
end

-- Where a pending message can stand, and in which order it is looked for.
local PLACES = {'pending', 'delayed', 'paused', 'over', 'aside'}

-- `odd` has what is pending but not in the one place where the oldest of all stands first anyway.
local function is_odd(place, score)
  return place ~= 'pending' or score ~= '0'
end

local function stand(queue, id, place, score)
  redis.call('ZADD', key(queue, place), score, id)
  if is_odd(place, score) then
    redis.call('ZADD', key(queue, 'odd'), 0, id)
  end
end

-- Puts a message into its place; one without meta can't be handed out, and is set aside.
local function make_pending(queue, id, m)
  if not m then
    stand(queue, id, 'aside', '0')
    return
  end
  if m.flag == 'P' then
    stand(queue, id, 'paused', '0')
  elseif m.due ~= '-' then
    stand(queue, id, 'delayed', m.due)
    note('delays', queue, m.due)
  else
    stand(queue, id, 'pending', digits(0 - m.priority))
  end
  if m.expires ~= '-' then
    redis.call('ZADD', key(queue, 'expiry'), m.expires, id)
    note('lapses', queue, m.expires)
  end
end

-- Takes a message out of the place where it is pending; returns whether it was. The first write, ZREM, is one that a
-- full server allows.
local function take_out(queue, id, m)
  for _, place in ipairs(PLACES) do
    if redis.call('ZREM', key(queue, place), id) == 1 then
      if place ~= 'pending' or not m or m.priority ~= '0' then
        redis.call('ZREM', key(queue, 'odd'), id)
      end
      if not m or m.expires ~= '-' then
        redis.call('ZREM', key(queue, 'expiry'), id)
      end
      return true
    end
  end
  return false
end

local function move_aside(queue, id, m, place)
  if take_out(queue, id, m) then
    stand(queue, id, place, m and digits(0 - m.priority) or '0')
    if m and m.expires ~= '-' then
      redis.call('ZADD', key(queue, 'expiry'), m.expires, id)
    end
  end
end

-- Lets those of which the delay is over be handed out, *limit* at most.
local function ripen(queue, now, limit)
  local delayed = key(queue, 'delayed')
  local ids = redis.call('ZRANGEBYSCORE', delayed, '-inf', digits(now), 'LIMIT', 0, limit)
  for _, id in ipairs(ids) do
    local m = meta_of(queue, id)
    redis.call('ZREM', delayed, id)
    if not m then
      stand(queue, id, 'aside', '0')
    else
      redis.call('ZADD', key(queue, 'pending'), digits(0 - m.priority), id)
      if m.priority == '0' then
        redis.call('ZREM', key(queue, 'odd'), id)
      end
    end
  end
  return #ids
end

-- More are not let in by one claim, so that it doesn't hold the server; rounds of upkeep see to the rest.
local RIPE_AT_ONCE = 10000

local function pending_count(queue)
  local sum = 0
  for _, place in ipairs(PLACES) do
    sum = sum + redis.call('ZCARD', key(queue, place))
  end
  return sum
end

-- Forgets a message that is in no place any more.
local function forget(queue, id, m)
  redis.call('HDEL', key(queue, 'body'), id)
  redis.call('HDEL', key(queue, 'meta'), id)
  if m then
    count(queue, 'bytes', 0 - m.size)
    if m.key_size ~= '-' then
      release(queue, key_of(m), id)
    end
  end
end

-- How a reference stands: D (can be settled), S (stale) or U (unknown), the message's meta and the end of its lease.
-- claim '' means whatever claim there is.
local function standing(queue, id, claim)
  local m = meta_of(queue, id)
  local until_ = redis.call('ZSCORE', key(queue, 'processing'), id)
  if not until_ then
    local there = m or redis.call('ZSCORE', key(queue, 'aside'), id)
    return there and 'S' or 'U', m
  end
  if claim ~= '' and m and m.claims ~= claim then
    return 'S', m
  end
  return 'D', m, until_
end

-- The first write, ZREM, is one that a full server allows.
local function end_claim(queue, id)
  redis.call('ZREM', key(queue, 'processing'), id)
end

-- Back from processing, and the claim was no attempt; returns whether the message is still there.
local function undo(queue, id, m)
  end_claim(queue, id)
  if m and m.flag == 'C' then
    forget(queue, id, m)
    return false
  end
  if m then
    m.attempt = digits(m.attempt - 1)
    write_meta('meta', queue, id, m)
  end
  make_pending(queue, id, m)
  return true
end
