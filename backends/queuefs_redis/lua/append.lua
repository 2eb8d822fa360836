-- uses: common, once, keys, messages, rooms, publishing
-- ARGV: queue, id, offset, partial, room for bytes, crc, data.
if before then
  return before
end
local queue, id, data = ARGV[4], ARGV[5], ARGV[10]
if not known(queue) then
  return '-noqueue'
end
local s = read_stage(redis.call('HGET', P .. 'stages:' .. daemon, id))
if s.queue ~= queue then
  return '-nomessage'
end
if s.size ~= ARGV[6] then
  return '-offset'
end
if not has_room_for_bytes(queue, #data, ARGV[8]) then
  return '-full'
end
s.partial, s.size, s.crc = ARGV[7], digits(s.size + #data), ARGV[9]
write_stage(daemon, id, s)
if #data > 0 then
  redis.call('HSET', key(queue, 'staged'), id, (redis.call('HGET', key(queue, 'staged'), id) or '') .. data)
  redis.call('HINCRBY', key(queue, 'sums'), 'staged', #data)
end
return answer('')
