-- Of records of messages that are done. done: id -> 'status size priority attempt enqueued claimed finished', the sizes
-- of its key, of its reason and of what its message had in all, then that (key, reason and extra) and the detail. ends:
-- when each finished. keep: what the queue was last told to keep, 'records microseconds'.
local finished, left_some, is_full

-- Begins to leave records; *records* is '' if nothing was said of them.
local function begin_records(records, seconds, given)
  if records ~= '' and records ~= '0' and seconds ~= '0' then
    finished = digits(clock(given))
  end
end

-- A full server refuses a first write that needs memory, and then none is left. So this goes before all other writes.
local function leave_record(queue, id, m, status, detail)
  if not finished or is_full or not m then
    return
  end
  local text = table.concat({m.flag == 'C' and 'cancelled' or status, m.size, m.priority, m.attempt, m.enqueued, m.claimed,
    finished, m.key_size, m.reason_size, #m.rest, m.rest}, ' ') .. detail
  local written = redis.pcall('HSET', key(queue, 'done'), id, text)
  if type(written) == 'table' and string.find(tostring(written.err), 'OOM', 1, true) then
    is_full = true
    return
  end
  redis.call('ZADD', key(queue, 'ends'), finished, id)
  left_some = true
end

local function drop_records(queue, ids)
  redis.call('HDEL', key(queue, 'done'), unpack(ids))
  redis.call('ZREM', key(queue, 'ends'), unpack(ids))
end

-- More are not dropped at once for later ones, so that it doesn't hold the server; rounds of upkeep see to the rest.
local DROPPED_AT_ONCE = 1000

-- Drops those in the place of which there are later ones; `terminated` has 'queue:id' of each until upkeep reports it.
-- Returns whether some are left.
local function drop_surplus(queue, records)
  local number = redis.call('ZCARD', key(queue, 'ends')) - records
  if number > 0 then
    local ids = redis.call('ZRANGE', key(queue, 'ends'), 0, math.min(number, DROPPED_AT_ONCE) - 1)
    drop_records(queue, ids)
    for _, id in ipairs(ids) do
      redis.call('RPUSH', P .. 'terminated', queue .. ':' .. id)
    end
  end
  return number > DROPPED_AT_ONCE
end

-- Notes what the queue is told to keep, lets what is kept be no more than that, and notes when upkeep has to look.
local function end_records(queue, records, seconds)
  if records == '' then
    return
  end
  local told = records .. ' ' .. seconds
  local is_new = redis.call('GET', key(queue, 'keep')) ~= told
  if is_new then
    go_on_when_full()
    redis.call('SET', key(queue, 'keep'), told)
  end
  if (is_new or left_some) and drop_surplus(queue, records) or is_new then
    note('retention', queue, '0')
  elseif left_some then
    note('retention', queue, digits(finished + seconds))
  end
end

-- How many of the oldest are over, by their number or their time; and how long they are kept.
local function surplus(queue, now)
  local records, seconds = string.match(redis.call('GET', key(queue, 'keep')) or '0 0', '^(%d+) (%d+)$')
  return math.max(0, redis.call('ZCARD', key(queue, 'ends')) - records,
    redis.call('ZCOUNT', key(queue, 'ends'), '-inf', digits(now - seconds))), seconds
end
