-- ARGV: 1 to put right what is wrong. Looks at all that is being written, which is no more than there are writers.
-- Returns queue, id and what is wrong of it in turn: 'half' if only a part of it is kept, 'size' if its payload has
-- another one, 'sum' (without an id) if the queue's sum of them has.
local mends = ARGV[1] == '1'
local found, sums, is_staged = {'+'}, {}, {}

local function note_finding(queue, id, what)
  for _, text in ipairs({queue, id, what}) do
    found[#found + 1] = text
  end
end

local function length_of(queue, id, size)
  if not is_big(size) then
    return redis.call('HSTRLEN', key(queue, 'staged'), id)
  end
  local length = 0
  for at = 0, size - 1, PIECE do
    length = length + redis.call('HSTRLEN', pieces(queue, id), digits(at))
  end
  return length
end

local function look_at_stage(owner, id)
  local s = read_stage(owner, id)
  local is_half = not s.queue or redis.call('HEXISTS', key(s.queue, 'staged'), id) == 0 or not known(s.queue)
  if is_half then
    note_finding(s.queue or '0', id, 'half')
  elseif length_of(s.queue, id, s.size) ~= tonumber(s.size) then
    note_finding(s.queue, id, 'size')
  end
  if is_half and mends then
    redis.call('HDEL', P .. 'stages:' .. owner, id)
  elseif not is_half then
    sums[s.queue] = (sums[s.queue] or 0) + s.size
    is_staged[s.queue .. ' ' .. id] = true
  end
end

if mends then
  go_on_when_full()
end
for _, owner in ipairs(redis.call('ZRANGE', P .. 'daemons', 0, -1)) do
  for _, id in ipairs(redis.call('HKEYS', P .. 'stages:' .. owner)) do
    look_at_stage(owner, id)
  end
end
for _, queue in ipairs(redis.call('HKEYS', P .. 'queues')) do
  for _, id in ipairs(redis.call('HKEYS', key(queue, 'staged'))) do
    if not is_staged[queue .. ' ' .. id] then
      note_finding(queue, id, 'half')
      if mends then
        redis.call('HDEL', key(queue, 'staged'), id)
      end
    end
  end
  local sum = sums[queue] or 0
  if tonumber(redis.call('HGET', key(queue, 'sums'), 'staged') or '0') ~= sum then
    note_finding(queue, '', 'sum')
    if mends then
      redis.call('HSET', key(queue, 'sums'), 'staged', sum)
    end
  end
end
return found
