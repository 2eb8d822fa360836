-- uses: common, once, pending, publishing
-- ARGV: now, limit, after which silence a daemon is dead, after which it is forgotten.
-- Returns 'next;expired;adopted': microseconds until something is due ('-' if nothing is), and queue:id for each.
if before then
  return before
end
local now, left, dead_after = clock(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local leases, daemons = P .. 'leases', P .. 'daemons'
go_on_when_full()

local function expire()
  local expired = {}
  while left > 0 do
    local queue = redis.call('ZRANGEBYSCORE', leases, '-inf', digits(now), 'LIMIT', 0, 1)[1]
    if not queue then
      break
    end
    local due = redis.call('ZRANGEBYSCORE', key(queue, 'processing'), '-inf', digits(now), 'LIMIT', 0, left)
    for _, id in ipairs(due) do
      give_back(queue, id, redis.call('HGET', key(queue, 'meta'), id))
      expired[#expired + 1] = queue .. ':' .. id
    end
    left = left - #due
    if #due > 0 then
      wake(queue)
    end
    local first = redis.call('ZRANGE', key(queue, 'processing'), 0, 0, 'WITHSCORES')
    if first[2] then
      redis.call('ZADD', leases, first[2], queue)
    else
      redis.call('ZREM', leases, queue)
    end
  end
  return expired
end

-- After an outage everybody looks dead; only who has been seen alive for long enough since may judge the others.
local function adopt_from_dead()
  local adopted = {}
  local since = redis.call('HGET', P .. 'beating', daemon)
  if not since or now - since < dead_after then
    return adopted
  end
  for _, owner in ipairs(redis.call('ZRANGEBYSCORE', daemons, '-inf', digits(now - dead_after))) do
    local ids = owner ~= daemon and redis.call('HKEYS', P .. 'stages:' .. owner) or {}
    for _, id in ipairs(ids) do
      if left == 0 then
        return adopted
      end
      local queue, published = adopt(owner, id, redis.call('HGET', P .. 'stages:' .. owner, id))
      left = left - 1
      if published then
        adopted[#adopted + 1] = queue .. ':' .. id
      end
    end
  end
  -- Not sooner: the answers of one that is only cut off keep its requests from being carried out twice.
  for _, owner in ipairs(redis.call('ZRANGEBYSCORE', daemons, '-inf', digits(now - ARGV[7]), 'LIMIT', 0, 100)) do
    redis.call('ZREM', daemons, owner)
    redis.call('HDEL', P .. 'beating', owner)
    redis.call('UNLINK', P .. 'answers:' .. owner)
  end
  return adopted
end

local expired = expire()
local adopted = adopt_from_dead()
local due = '-'
if left == 0 then
  due = '0'
else
  local first = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')
  due = first[2] and digits(math.max(0, first[2] - now)) or '-'
end
return answer(due .. ';' .. table.concat(expired, ' ') .. ';' .. table.concat(adopted, ' '))
