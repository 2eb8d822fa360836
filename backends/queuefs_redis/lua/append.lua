-- uses: common, once, pending, publishing
-- ARGV: queue, id, offset, partial, crc, data.
if before then
  return before
end
local queue, id, data = ARGV[4], ARGV[5], ARGV[9]
if not known(queue) then
  return '-noqueue'
end
local stage = redis.call('HGET', P .. 'stages:' .. daemon, id)
local at, _, priority, enqueued, size = string.match(stage or '', STAGE)
if at ~= queue then
  return '-nomessage'
end
if size ~= ARGV[6] then
  return '-offset'
end
redis.call('HSET', P .. 'stages:' .. daemon, id,
  table.concat({queue, ARGV[7], priority, enqueued, digits(size + #data), ARGV[8]}, ' '))
if #data > 0 then
  redis.call('HSET', key(queue, 'staged'), id, (redis.call('HGET', key(queue, 'staged'), id) or '') .. data)
end
return answer('')
