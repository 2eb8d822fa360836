-- uses: common, once, keys, messages, rooms, publishing
-- ARGV: queue, room for messages, room for bytes, where the daemon runs ('' if that is known), now, then the stage
-- (partial, crc, priority, delay, ttl, size of its key, key and extra), data. Returns the id.
if before then
  return before
end
local queue, data = ARGV[4], ARGV[16]
if not known(queue) then
  return '-noqueue'
end
if not (has_room_for_one(queue, ARGV[5]) and has_room_for_bytes(queue, #data, ARGV[6])) then
  return '-full'
end
local counted = redis.pcall('INCR', P .. 'last-id')
if type(counted) == 'table' then
  if string.find(tostring(counted.err), 'overflow', 1, true) then
    return '-exhausted'
  end
  return counted
end
-- INCR's own reply is a double by now. Padded, ids of one priority sort in a sorted set as they were given.
local id = redis.call('GET', P .. 'last-id')
id = string.rep('0', 19 - #id) .. id
local now = digits(clock(ARGV[8]))
write_stage(daemon, id, {queue = queue, partial = ARGV[9], size = digits(#data), crc = ARGV[10], enqueued = now,
  priority = ARGV[11], delay = ARGV[12], ttl = ARGV[13], key_size = ARGV[14], rest = ARGV[15]})
redis.call('HSET', key(queue, 'staged'), id, data)
redis.call('HINCRBY', key(queue, 'sums'), 'staged', #data)
if ARGV[7] ~= '' then -- it has not shown yet that it lives; were it to end before, nobody would look for its stages
  redis.call('ZADD', P .. 'daemons', 'NX', now, daemon)
  redis.call('HSET', P .. 'places', daemon, ARGV[7])
end
return answer(id)
