-- What is due at `now`, in rounds of `left` messages.
local overdue, lapsed, ripe, terminated = {}, {}, {}, {}
local next_at

local function sooner(at)
  at = tonumber(at)
  if at and not (next_at and next_at <= at) then
    next_at = at
  end
end

-- Has *act* do what is due of the queues noted in *what*, which stands in their *part* by time.
local function work_off(what, part, now, left, act)
  while left > 0 do
    local queue = redis.call('ZRANGEBYSCORE', P .. what, '-inf', digits(now), 'LIMIT', 0, 1)[1]
    if not queue then
      break
    end
    local members = redis.call('ZRANGEBYSCORE', key(queue, part), '-inf', digits(now), 'LIMIT', 0, left)
    act(queue, members)
    left = left - #members
    local first = redis.call('ZRANGE', key(queue, part), 0, 0, 'WITHSCORES')
    if first[2] then
      redis.call('ZADD', P .. what, first[2], queue)
    else
      redis.call('ZREM', P .. what, queue)
    end
  end
  return left
end

local function lapse(queue, ids)
  for _, id in ipairs(ids) do
    local m = meta_of(queue, id)
    redis.call('ZREM', key(queue, 'expiry'), id)
    take_out(queue, id, m)
    forget(queue, id, m)
    lapsed[#lapsed + 1] = queue .. ':' .. id
  end
  tell(queue, 'lapse', ids)
end

local function forget_keys(queue, names)
  for _, name in ipairs(names) do
    redis.call('HDEL', key(queue, 'published'), name)
    redis.call('ZREM', key(queue, 'windows'), name)
  end
end

local function report_dropped(queue, ids)
  for _, id in ipairs(ids) do
    terminated[#terminated + 1] = queue .. ':' .. id
  end
  tell(queue, 'terminate', ids)
end

-- Reports records that were dropped for later ones, but for those of queues that are gone.
local function report_surplus(left)
  local dropped = left > 0 and redis.call('LRANGE', P .. 'terminated', 0, left - 1) or {}
  redis.call('LTRIM', P .. 'terminated', #dropped, -1)
  local ids = {}
  for i, text in ipairs(dropped) do
    local queue, id = string.match(text, '^(%d+):(%d+)$')
    ids[#ids + 1] = id
    local next_queue = dropped[i + 1] and string.match(dropped[i + 1], '^%d+')
    if next_queue ~= queue then
      if known(queue) then
        report_dropped(queue, ids)
      end
      ids = {}
    end
  end
  return left - #dropped
end

-- Drops records whose time is over, of the queues noted for it.
local function trim_records(now, left)
  while left > 0 do
    local queue = redis.call('ZRANGEBYSCORE', P .. 'retention', '-inf', digits(now), 'LIMIT', 0, 1)[1]
    if not queue then
      break
    end
    local number, seconds = surplus(queue, now)
    local ids = number > 0 and redis.call('ZRANGE', key(queue, 'ends'), 0, math.min(number, left) - 1) or {}
    if #ids > 0 then
      drop_records(queue, ids)
      report_dropped(queue, ids)
    end
    left = left - #ids
    local first = redis.call('ZRANGE', key(queue, 'ends'), 0, 0, 'WITHSCORES')[2]
    if not first then
      redis.call('ZREM', P .. 'retention', queue)
    elseif number == #ids then
      redis.call('ZADD', P .. 'retention', digits(first + seconds), queue)
    end
  end
  return left
end

-- The messages whose leases are over, of the queues that have one, the first *limit* of all; returns whether there are
-- more. They stay where they are, so the queue stays noted.
local function look_for_overdue(now, limit)
  local found = {}
  local function cut()
    table.sort(found, function(a, b)
      return a.at < b.at or a.at == b.at and a.id < b.id
    end)
    for i = #found, limit + 2, -1 do
      found[i] = nil
    end
  end
  for _, queue in ipairs(redis.call('ZRANGEBYSCORE', P .. 'leases', '-inf', digits(now))) do
    local processing = key(queue, 'processing')
    local ids = redis.call('ZRANGEBYSCORE', processing, '-inf', digits(now), 'WITHSCORES', 'LIMIT', 0, limit + 1)
    for i = 1, #ids, 2 do
      found[#found + 1] = {queue = queue, id = ids[i], at = tonumber(ids[i + 1])}
    end
    if #found > 2 * limit + 100 then
      cut()
    end
    local later = redis.call('ZRANGEBYSCORE', processing, '(' .. digits(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    sooner(later)
    local first = ids[2] or later
    if first then
      redis.call('ZADD', P .. 'leases', first, queue)
    else
      redis.call('ZREM', P .. 'leases', queue)
    end
  end
  sooner(redis.call('ZRANGEBYSCORE', P .. 'leases', '(' .. digits(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2])
  cut()
  local more = #found > limit
  found[limit + 1] = nil
  for _, each in ipairs(found) do
    local m = meta_of(each.queue, each.id)
    overdue[#overdue + 1] = table.concat({each.queue, each.id, m and m.claims or '-', m and m.attempt or '0',
      m and m.flag or '-'}, ':')
  end
  return more
end
