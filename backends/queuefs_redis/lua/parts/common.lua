-- What every script begins with. KEYS[1] is what begins every key, '{prefix}:'; so all keys lie in one slot.
local P = KEYS[1]

-- A key of one queue. Sorted sets of ids: pending, delayed, paused, over and aside (see `messages.lua`), processing (by
-- the end of the lease), waiting and held (by place, see there), odd, expiry, graves (the dead by id), ends (of records).
-- Hashes by id: meta and body, dead and remains (the same of dead ones), staged, done (records). Sets: big, the ids that
-- have a hash pieces:<id> (see `bodies.lua`). Others: keys, published and windows (see `keys.lua`), sums (bytes of
-- messages and of stages, and the totals), keep (see `done.lua`), files (owners by name of file).
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

-- Redis judges a script by the memory there is at its first write, and refuses it if that write needs some. What frees
-- room, or keeps a message or a daemon alive, therefore begins with a write that needs none, with this one if need be.
local function go_on_when_full()
  redis.call('UNLINK', P .. 'none')
end

-- What the other daemons are told: 'daemon', then a line 'queue verb ids' for each step. Without ids it was all of
-- them, or too many to name; without verb something about the queue has changed.
local told = {}

local function tell(queue, verb, ids)
  if not verb then
    told[#told + 1] = queue
  elseif not ids then
    told[#told + 1] = queue .. ' ' .. verb
  elseif #ids > 0 then
    told[#told + 1] = queue .. ' ' .. verb .. ' ' .. (#ids <= 1000 and table.concat(ids, ',') or '')
  end
end

local function tell_all(daemon)
  if #told > 0 then
    redis.call('PUBLISH', P .. 'did', daemon .. '\n' .. table.concat(told, '\n'))
  end
end

-- A queue as it is answered: 'number length length config files record', the lengths of config and files. Of each file
-- it has 'uid gid mode length name'.
local function described(number, record)
  local config = redis.call('HGET', P .. 'configs', number) or ''
  local owners = redis.call('HGETALL', key(number, 'files'))
  local files = {}
  for i = 1, #owners, 2 do
    files[#files + 1] = owners[i + 1] .. ' ' .. #owners[i] .. ' ' .. owners[i]
  end
  files = table.concat(files)
  return table.concat({number, #config, #files, config}, ' ') .. files .. record
end
