-- Of messages that are published. meta: these fields, and then key, reason and extra without anything in between.
local META = '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$'

local function read_meta(text)
  local m = {}
  m.enqueued, m.priority, m.attempt, m.claims, m.claimed, m.size, m.crc, m.due, m.expires, m.flag, m.key_size,
    m.reason_size, m.rest = string.match(text, META)
  return m
end

local function meta_text(m)
  return table.concat({m.enqueued, m.priority, m.attempt, m.claims, m.claimed, m.size, m.crc, m.due, m.expires, m.flag,
    m.key_size, m.reason_size, m.rest}, ' ')
end

local function write_meta(part, queue, id, m)
  redis.call('HSET', key(queue, part), id, meta_text(m))
end

local function meta_of(queue, id)
  local text = redis.call('HGET', key(queue, 'meta'), id)
  return text and read_meta(text)
end

-- Its key; nil if it has none.
local function key_of(m)
  return m.key_size ~= '-' and string.sub(m.rest, 1, tonumber(m.key_size)) or nil
end

-- By which it stands among others: its priority negated.
local function rank_of(m)
  return digits(0 - m.priority)
end

local function count(queue, what, number)
  if number ~= 0 then
    redis.call('HINCRBY', key(queue, 'sums'), what, number)
  end
end

-- Counts messages and their bytes among what is unacknowledged: of this queue, and of all.
local function count_unacked(queue, number, bytes)
  count(queue, 'bytes', bytes)
  if number ~= 0 then
    redis.call('INCRBY', P .. 'unacked', number)
  end
end

-- `leases`, `delays`, `lapses` and `retention` hold for each queue a time before which nothing of it is due; it may be
-- too early, never too late.
local function note(what, queue, at)
  redis.call('ZADD', P .. what, 'LT', at, queue)
end

-- Where a pending message can stand, and in which order it is looked for: pending if it can be handed out; over if its
-- time to live has ended, as a claim found; aside if it can't be read.
local PLACES = {'pending', 'delayed', 'paused', 'over', 'aside'}

-- Puts a pending message into *place*. *rank* is its priority negated, by which all stand but the delayed ones, which
-- stand by *due*. `waiting` has those of all places but the first once more, by rank: so two sets have all that is
-- pending in order. `odd` has what is pending but not in the one place where the oldest of all stands first anyway.
local function stand(queue, id, place, rank, due)
  redis.call('ZADD', key(queue, place), due or rank, id)
  if place ~= 'pending' then
    redis.call('ZADD', key(queue, 'waiting'), rank, id)
  end
  if place ~= 'pending' or rank ~= '0' then
    redis.call('ZADD', key(queue, 'odd'), 0, id)
  end
end

-- Puts a message into its place; one without meta can't be handed out, and is set aside.
local function make_pending(queue, id, m, rank)
  if not m then
    stand(queue, id, 'aside', rank or '0')
    return
  end
  if m.flag == 'P' then
    stand(queue, id, 'paused', rank_of(m))
  elseif m.due ~= '-' then
    stand(queue, id, 'delayed', rank_of(m), m.due)
    note('delays', queue, m.due)
  else
    stand(queue, id, 'pending', rank_of(m))
  end
  if m.expires ~= '-' then
    redis.call('ZADD', key(queue, 'expiry'), m.expires, id)
    note('lapses', queue, m.expires)
  end
end

-- Takes a message out of the place where it is pending; returns it, or nil if it was in none. The first write, ZREM, is
-- one that a full server allows.
local function take_out(queue, id, m)
  for _, place in ipairs(PLACES) do
    if redis.call('ZREM', key(queue, place), id) == 1 then
      if place ~= 'pending' then
        redis.call('ZREM', key(queue, 'waiting'), id)
      end
      if place ~= 'pending' or not m or m.priority ~= '0' then
        redis.call('ZREM', key(queue, 'odd'), id)
      end
      if not m or m.expires ~= '-' then
        redis.call('ZREM', key(queue, 'expiry'), id)
      end
      return place
    end
  end
end

local function move_aside(queue, id, m, place)
  local rank = m and rank_of(m) or redis.call('ZSCORE', key(queue, 'pending'), id) or '0'
  if take_out(queue, id, m) then
    stand(queue, id, place, rank)
    if m and m.expires ~= '-' then
      redis.call('ZADD', key(queue, 'expiry'), m.expires, id)
    end
  end
end

-- Lets those be handed out again that are set aside and have payloads of more than *inline* bytes, which are not read.
local function bring_back(queue, inline)
  local ids = inline ~= '' and redis.call('ZRANGE', key(queue, 'aside'), 0, 99) or {}
  for _, id in ipairs(ids) do
    local m = meta_of(queue, id)
    if m and tonumber(m.size) > tonumber(inline) then
      take_out(queue, id, m)
      make_pending(queue, id, m)
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
      stand(queue, id, 'aside', redis.call('ZSCORE', key(queue, 'waiting'), id) or '0')
    else
      redis.call('ZREM', key(queue, 'waiting'), id)
      redis.call('ZADD', key(queue, 'pending'), rank_of(m), id)
      if m.priority == '0' then
        redis.call('ZREM', key(queue, 'odd'), id)
      end
    end
  end
  return #ids
end

-- More are not let in by one claim, so that it doesn't hold the server; rounds of upkeep see to the rest.
local RIPE_AT_ONCE = 10000

-- Lets a message that is in no place any more be unacknowledged no more; its payload stays.
local function release_message(queue, id, m)
  redis.call('HDEL', key(queue, 'meta'), id)
  count_unacked(queue, -1, m and 0 - m.size or 0)
  if m and m.key_size ~= '-' then
    release(queue, key_of(m), id)
  end
end

-- Forgets a message that is in no place any more.
local function forget(queue, id, m)
  drop_body(queue, id, 'body', m and m.size or '')
  release_message(queue, id, m)
end

-- How a reference stands: D (can be settled), S (stale) or U (unknown), the message's meta and the end of its lease.
-- claim '' means whatever claim there is.
local function standing(queue, id, claim)
  local m = meta_of(queue, id)
  local until_ = redis.call('ZSCORE', key(queue, 'processing'), id)
  if not until_ then
    return (m or redis.call('ZSCORE', key(queue, 'pending'), id) or redis.call('ZSCORE', key(queue, 'waiting'), id))
      and 'S' or 'U', m
  end
  if claim ~= '' and m and m.claims ~= claim then
    return 'S', m
  end
  return 'D', m, until_
end

-- Of messages that die.

local function set_reason(m, reason)
  local key_size = m.key_size == '-' and 0 or tonumber(m.key_size)
  local old_size = m.reason_size == '-' and 0 or tonumber(m.reason_size)
  m.rest = string.sub(m.rest, 1, key_size) .. reason .. string.sub(m.rest, key_size + old_size + 1)
  m.reason_size = digits(#reason)
end

-- Makes a message dead that is in no place any more.
local function bury(queue, id, m)
  release_message(queue, id, m)
  m.due, m.flag = '-', '-'
  write_meta('dead', queue, id, m)
  redis.call('ZADD', key(queue, 'graves'), 0, id)
  move_body(queue, id, m.size, 'body', queue, 'remains')
end
