-- Of keys that tell repetitions. keys: key -> ids of the unacknowledged messages that have it, separated by spaces (more
-- than one only if a dead one was retried). published: key -> 'id time' of its last publication with a window; windows:
-- when that is over.

local function holders(queue, name)
  local ids = {}
  for id in string.gmatch(redis.call('HGET', key(queue, 'keys'), name) or '', '%d+') do
    ids[#ids + 1] = id
  end
  return ids
end

local function hold(queue, name, id)
  local ids = holders(queue, name)
  ids[#ids + 1] = id
  table.sort(ids)
  redis.call('HSET', key(queue, 'keys'), name, table.concat(ids, ' '))
end

local function release(queue, name, id)
  local left = {}
  for _, other in ipairs(holders(queue, name)) do
    if other ~= id then
      left[#left + 1] = other
    end
  end
  redis.call('HDEL', key(queue, 'keys'), name)
  if #left > 0 then
    redis.call('HSET', key(queue, 'keys'), name, table.concat(left, ' '))
  end
end

-- Of publications of keys (see `keys`).

-- The message to which another of this key gives way now.
local function first_of(queue, name, now, window)
  local ids = holders(queue, name)
  if ids[1] then
    return ids[1]
  end
  local last = window > 0 and redis.call('HGET', key(queue, 'published'), name)
  if last then
    local id, at = string.match(last, '^(%d+) (%S+)$')
    return now - at < window and id
  end
end

-- Lets the publication of a message that left the queue keep no repetition out any more.
local function forget_publication(queue, name, id)
  local last = redis.call('HGET', key(queue, 'published'), name)
  if last and string.match(last, '^%d+') == id then
    redis.call('HDEL', key(queue, 'published'), name)
    redis.call('ZREM', key(queue, 'windows'), name)
  end
end

local function note_publication(queue, name, id, now, window)
  if window > 0 then
    redis.call('HSET', key(queue, 'published'), name, id .. ' ' .. digits(now))
    redis.call('ZADD', key(queue, 'windows'), 'GT', digits(now + window), name)
    redis.call('ZADD', P .. 'windows', 'LT', digits(now + window), queue)
  end
end
