-- uses: common, once
-- ARGV: queue.
if before then
  return before
end
local queue = ARGV[4]
local record = redis.call('HGET', P .. 'queues', queue)
if not record then
  return '-noqueue'
end
if redis.call('EXISTS', P .. 'children:' .. queue, key(queue, 'pending'), key(queue, 'aside'),
    key(queue, 'processing')) > 0 then
  return '-notempty'
end
if redis.call('EXISTS', key(queue, 'staged')) == 1 then
  return '-busy'
end
go_on_when_full()
local parent, name = string.match(record, '^(%S+) %S+ %S+ %S+ %S+ (.*)$')
redis.call('HDEL', P .. 'queues', queue)
redis.call('HDEL', P .. 'children:' .. parent, name)
redis.call('HDEL', P .. 'bytes', queue)
redis.call('ZREM', P .. 'leases', queue)
redis.call('UNLINK', key(queue, 'meta'), key(queue, 'body'))
redis.call('PUBLISH', P .. 'tree', queue)
return answer('')
