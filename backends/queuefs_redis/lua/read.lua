-- ARGV: queue, id, offset, size. Returns what of it lies in each piece; '-' first if there is no such message, '!' if a
-- piece is missing.
local queue, id, offset = ARGV[1], ARGV[2], tonumber(ARGV[3])
local m, part = meta_of(queue, id), 'body'
if not m then
  local dead = redis.call('HGET', key(queue, 'dead'), id)
  if not dead then
    return known(queue) and {'-'} or '-noqueue'
  end
  m, part = read_meta(dead), 'remains'
end
local last = math.min(offset + ARGV[4], tonumber(m.size)) -- the byte behind the last one
if not is_big(m.size) then
  local body = redis.call('HGET', key(queue, part), id) or ''
  return #body < last and {'!'} or {'+', string.sub(body, offset + 1, last)}
end
local found = {'+'}
for at = offset - offset % PIECE, last - 1, PIECE do
  local piece = redis.call('HGET', pieces(queue, id), digits(at))
  local wanted = math.min(PIECE, m.size - at)
  if not piece or #piece ~= wanted then
    return {'!'}
  end
  found[#found + 1] = string.sub(piece, math.max(0, offset - at) + 1, last - at)
end
return found
