-- What every script begins with. KEYS[1] is what begins every key, '{prefix}:'; so all keys lie in one slot.
local P = KEYS[1]

-- A key of one queue: pending, aside, processing (sorted sets of ids), meta, body, staged (hashes by id).
local function key(queue, part)
  return P .. 'q:' .. queue .. ':' .. part
end

-- Lua's own tostring writes 1.7e+15. Never for message ids: a double holds 53 bits of their 63.
local function digits(number)
  return string.format('%.0f', number)
end

-- Microseconds: the server's, unless the caller gave its own.
local function clock(given)
  if given ~= '' then
    return tonumber(given)
  end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function known(queue)
  return redis.call('HEXISTS', P .. 'queues', queue) == 1
end

-- Tells every daemon that messages of this queue have become pending.
local function wake(queue)
  redis.call('PUBLISH', P .. 'wake', queue)
end

-- Redis judges a script by the memory there is at its first write, and refuses it if that write needs some. What frees
-- room, or keeps a message or a daemon alive, therefore begins with a write that needs none, with this one if need be.
local function go_on_when_full()
  redis.call('UNLINK', P .. 'none')
end
