-- uses: common, once
-- ARGV: queue, partial, priority, crc, now, data, 1 if the daemon is new. Returns the id.
if before then
  return before
end
local queue, data = ARGV[4], ARGV[9]
if not known(queue) then
  return '-noqueue'
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
redis.call('HSET', P .. 'stages:' .. daemon, id,
  table.concat({queue, ARGV[5], ARGV[6], now, digits(#data), ARGV[7]}, ' '))
redis.call('HSET', key(queue, 'staged'), id, data)
if ARGV[10] == '1' then -- it has not shown yet that it lives; were it to end before, nobody would look for its stages
  redis.call('ZADD', P .. 'daemons', 'NX', now, daemon)
end
return answer(id)
