-- uses: once
-- ARGV: now, limit, after which silence a daemon is dead, after which it is forgotten.
-- Returns 'next;overdue;lapsed;ripe;adopted;terminated': microseconds until something is due ('-' if nothing is),
-- queue:id:claims:attempt:flag, queue:id, queue, and queue:id for the last two.
if before then
  return before
end
local now, limit, dead_after = clock(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local left = limit
local daemons = P .. 'daemons'
go_on_when_full()

-- Messages whose delay is over may have been let in by a claim; those of them that are left are worth a word too.
local function make_ripe(queue, ids)
  if ripen(queue, now, #ids) > 0 or redis.call('EXISTS', key(queue, 'pending')) == 1 then
    ripe[#ripe + 1] = queue
    tell(queue)
  end
end

local adopted = {}

-- Returns whether none of its stages is left.
local function adopt_all(owner)
  for _, id in ipairs(redis.call('HKEYS', P .. 'stages:' .. owner)) do
    if left == 0 then
      return false
    end
    local queue, published = adopt(owner, id, now)
    left = left - 1
    if published then
      adopted[#adopted + 1] = queue .. ':' .. id
    end
  end
  return true
end

local function forget_daemon(owner)
  redis.call('ZREM', daemons, owner)
  redis.call('HDEL', P .. 'beating', owner)
  redis.call('HDEL', P .. 'places', owner)
  redis.call('UNLINK', P .. 'answers:' .. owner)
end

local function adopt_from_dead()
  for _, owner in ipairs(redis.call('ZRANGEBYSCORE', daemons, 0, 0)) do -- its process has ended
    if owner ~= daemon and adopt_all(owner) then
      forget_daemon(owner)
    end
  end
  -- After an outage everybody looks dead; only who has been seen alive for long enough since may judge the others.
  local since = redis.call('HGET', P .. 'beating', daemon)
  if not since or now - since < dead_after then
    return
  end
  for _, owner in ipairs(redis.call('ZRANGEBYSCORE', daemons, '-inf', digits(now - dead_after))) do
    if owner ~= daemon and not adopt_all(owner) then
      return
    end
  end
  -- Not sooner: the answers of one that is only cut off keep its requests from being carried out twice.
  for _, owner in ipairs(redis.call('ZRANGEBYSCORE', daemons, '-inf', digits(now - ARGV[7]), 'LIMIT', 0, 100)) do
    forget_daemon(owner)
  end
end

left = work_off('lapses', 'expiry', now, left, lapse)
left = work_off('delays', 'delayed', now, left, make_ripe)
left = work_off('windows', 'windows', now, left, forget_keys)
adopt_from_dead()
left = trim_records(now, report_surplus(left))
local more = look_for_overdue(now, limit)
for _, what in ipairs({'lapses', 'delays', 'retention'}) do
  sooner(redis.call('ZRANGE', P .. what, 0, 0, 'WITHSCORES')[2])
end
local due = (more or left == 0) and '0' or next_at and digits(math.max(0, next_at - now)) or '-'
return answer(table.concat({due, table.concat(overdue, ' '), table.concat(lapsed, ' '), table.concat(ripe, ' '),
  table.concat(adopted, ' '), table.concat(terminated, ' ')}, ';'))
