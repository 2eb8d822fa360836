-- uses: once
-- ARGV: queue, id, offset, partial, room for bytes, crc, data (cut where pieces end).
if before then
  return before
end
local queue, id, size = ARGV[4], ARGV[5], 0
if not known(queue) then
  return '-noqueue'
end
local s = read_stage(daemon, id)
if s.queue ~= queue then
  return '-nomessage'
end
if s.size ~= ARGV[6] then
  return '-offset'
end
for i = 10, #ARGV do
  size = size + #ARGV[i]
end
if not has_room_for_bytes(queue, size, ARGV[8]) then
  return '-full'
end
local offset = tonumber(s.size)
s.partial, s.size, s.crc = ARGV[7], digits(offset + size), ARGV[9]
write_stage(daemon, id, s)
if size > 0 then
  add_to_staged(queue, id, offset, offset + size, 10)
  count(queue, 'staged', size)
end
return answer('')
