-- uses: once
-- ARGV: queue, room for messages, room for bytes, where the daemon runs ('' if that is known), now, the id that is asked
-- for or '', then the stage (partial, crc, priority, delay, ttl, size of its key, key and extra), data (cut where pieces
-- end). Returns the id.
if before then
  return before
end
local queue, id, size = ARGV[4], ARGV[9], 0
if not known(queue) then
  return '-noqueue'
end
for i = 17, #ARGV do
  size = size + #ARGV[i]
end

-- An id names one message of all queues. It is looked for in all of them only if it may have been given.
local function is_in_use()
  if not is_given('last-id', id) then
    return false
  end
  for _, other in ipairs(redis.call('HKEYS', P .. 'queues')) do
    if standing(other, id, '') ~= 'U' or redis.call('HEXISTS', key(other, 'staged'), id) == 1
        or redis.call('HEXISTS', key(other, 'dead'), id) == 1 then
      return true
    end
  end
  return false
end

if id ~= '' and is_in_use() then
  return '-inuse'
end
if not (has_room_for_one(queue, ARGV[5]) and has_room_for_bytes(queue, size, ARGV[6])) then
  return '-full'
end
if id ~= '' then
  raise('last-id', id)
else
  local counted = redis.pcall('INCR', P .. 'last-id')
  if type(counted) == 'table' then
    if string.find(tostring(counted.err), 'overflow', 1, true) then
      return '-exhausted'
    end
    return counted
  end
  -- INCR's own reply is a double by now. Padded, ids of one priority sort in a sorted set as they were given.
  id = padded(redis.call('GET', P .. 'last-id'))
end
local now = digits(clock(ARGV[8]))
write_stage(daemon, id, {queue = queue, partial = ARGV[10], size = digits(size), crc = ARGV[11], enqueued = now,
  priority = ARGV[12], delay = ARGV[13], ttl = ARGV[14], key_size = ARGV[15], rest = ARGV[16]})
add_to_staged(queue, id, 0, size, 17)
count(queue, 'staged', size)
if ARGV[7] ~= '' then -- it has not shown yet that it lives; were it to end before, nobody would look for its stages
  redis.call('ZADD', P .. 'daemons', 'NX', now, daemon)
  redis.call('HSET', P .. 'places', daemon, ARGV[7])
end
return answer(id)
