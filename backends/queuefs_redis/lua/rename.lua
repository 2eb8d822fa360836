-- uses: once
-- ARGV: queue, parent, name. Nothing but these records knows a queue's name, so no other key moves.
if before then
  return before
end
local queue, parent, name = ARGV[4], ARGV[5], ARGV[6]
local record = redis.call('HGET', P .. 'queues', queue)
if not record then
  return '-noqueue'
end
local above = parent
while above ~= '0' do
  if above == queue then
    return '-loop'
  end
  local higher = redis.call('HGET', P .. 'queues', above)
  if not higher then
    return '-noqueue'
  end
  above = string.match(higher, '^%S+')
end
local there = redis.call('HGET', P .. 'children:' .. parent, name)
if there and there ~= queue then
  return '-exists'
end
go_on_when_full()
local old_parent, rest, old_name = string.match(record, '^(%S+) (%S+ %S+ %S+ %S+) (.*)$')
redis.call('HDEL', P .. 'children:' .. old_parent, old_name)
redis.call('HSET', P .. 'children:' .. parent, name, queue)
redis.call('HSET', P .. 'queues', queue, parent .. ' ' .. rest .. ' ' .. name)
tell(queue)
return answer('')
