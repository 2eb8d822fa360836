-- uses: once
-- ARGV: queue.
if before then
  return before
end
local queue = ARGV[4]
local record = redis.call('HGET', P .. 'queues', queue)
if not record then
  return '-noqueue'
end
if redis.call('EXISTS', P .. 'children:' .. queue, key(queue, 'processing'), key(queue, 'dead')) > 0
    or pending_count(queue) > 0 then
  return '-notempty'
end
if redis.call('EXISTS', key(queue, 'staged')) == 1 then
  return '-busy'
end
go_on_when_full()
local parent, name = string.match(record, '^(%S+) %S+ %S+ %S+ %S+ (.*)$')
redis.call('HDEL', P .. 'queues', queue)
redis.call('HDEL', P .. 'configs', queue)
redis.call('HDEL', P .. 'children:' .. parent, name)
for _, what in ipairs({'leases', 'delays', 'lapses', 'windows', 'retention'}) do
  redis.call('ZREM', P .. what, queue)
end
for _, id in ipairs(redis.call('SMEMBERS', key(queue, 'big'))) do
  drop_pieces(queue, id)
end
for _, part in ipairs({'meta', 'body', 'remains', 'waiting', 'held', 'odd', 'expiry', 'graves', 'keys', 'published',
    'windows', 'sums', 'done', 'ends', 'keep', 'files'}) do
  redis.call('UNLINK', key(queue, part))
end
tell(queue)
return answer('')
