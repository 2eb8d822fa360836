-- uses: once
-- ARGV: queue, uid, gid, mode, '+' and the name of one of its files, or '' for the queue itself.
if before then
  return before
end
local queue = ARGV[4]
local record = redis.call('HGET', P .. 'queues', queue)
if not record then
  return '-noqueue'
end
go_on_when_full()
if ARGV[8] ~= '' then
  redis.call('HSET', key(queue, 'files'), string.sub(ARGV[8], 2), table.concat({ARGV[5], ARGV[6], ARGV[7]}, ' '))
  tell(queue)
  return answer('')
end
local parent, rest = string.match(record, '^(%S+) %S+ %S+ %S+ (.*)$')
redis.call('HSET', P .. 'queues', queue, table.concat({parent, ARGV[5], ARGV[6], ARGV[7], rest}, ' '))
tell(queue)
return answer('')
