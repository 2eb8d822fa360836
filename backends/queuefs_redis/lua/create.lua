-- uses: once
-- ARGV: parent, name, uid, gid, mode, now, the version of the layout. Returns the queue.
if before then
  return before
end
local parent, name = ARGV[4], ARGV[5]
if parent ~= '0' and not known(parent) then
  return '-noqueue'
end
if redis.call('HEXISTS', P .. 'children:' .. parent, name) == 1 then
  return '-exists'
end
local number = digits(redis.call('INCR', P .. 'last-queue'))
local record = table.concat({parent, ARGV[6], ARGV[7], ARGV[8], digits(clock(ARGV[9])), name}, ' ')
redis.call('HSET', P .. 'queues', number, record)
redis.call('HSET', P .. 'children:' .. parent, name, number)
redis.call('SET', P .. 'layout', ARGV[10], 'NX')
tell(number)
return answer(described(number, record))
