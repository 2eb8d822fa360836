-- uses: common, once
-- ARGV: queue, uid, gid, mode.
if before then
  return before
end
local queue = ARGV[4]
local record = redis.call('HGET', P .. 'queues', queue)
if not record then
  return '-noqueue'
end
go_on_when_full()
local parent, rest = string.match(record, '^(%S+) %S+ %S+ %S+ (.*)$')
redis.call('HSET', P .. 'queues', queue, table.concat({parent, ARGV[5], ARGV[6], ARGV[7], rest}, ' '))
tell(queue)
return answer('')
