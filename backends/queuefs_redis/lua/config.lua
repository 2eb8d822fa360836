-- uses: once
-- ARGV: queue, config, what it is expected to be. Returns 1 if it was, else 0.
if before then
  return before
end
local queue = ARGV[4]
if not known(queue) then
  return '-noqueue'
end
if (redis.call('HGET', P .. 'configs', queue) or '') ~= ARGV[6] then
  return '+0'
end
go_on_when_full()
redis.call('HSET', P .. 'configs', queue, ARGV[5])
tell(queue)
return answer('1')
