-- uses: once
-- ARGV: queue, id, target, room for messages and for bytes. Returns D, S (stale) or U (unknown).
if before then
  return before
end
local queue, id, target = ARGV[4], ARGV[5], ARGV[6]
if not (known(queue) and known(target)) then
  return '-noqueue'
end
local letter, m, held = standing(queue, id, '')
if held or letter == 'U' or not m then
  return '+' .. (letter == 'U' and 'U' or 'S')
end
if queue == target then
  return '+D'
end
local name = key_of(m)
if not (has_room_for_one(target, ARGV[7]) and has_room_for_bytes(target, tonumber(m.size), ARGV[8])) then
  return '-full'
end
if name and holders(target, name)[1] then
  return '-keyinuse'
end
local place = take_out(queue, id, m)
move_body(queue, id, m.size, 'body', target, 'body')
release_message(queue, id, m)
write_meta('meta', target, id, m)
count_unacked(target, 1, tonumber(m.size))
count(target, 'enqueued', 1)
if name then
  forget_publication(queue, name, id)
  hold(target, name, id)
end
make_pending(target, id, m)
if place == 'aside' then
  move_aside(target, id, m, place)
end
tell(queue, 'move', {id})
tell(target, 'publish', {id})
return answer('D')
