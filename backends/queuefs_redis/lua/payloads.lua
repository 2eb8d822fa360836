-- ARGV: queue, ids. Returns meta and payload (see `body_of`) for each, '' twice where either is missing.
local queue = ARGV[1]
if not known(queue) then
  return '-noqueue'
end
local found = {'+'}
for i = 2, #ARGV do
  local meta = redis.call('HGET', key(queue, 'meta'), ARGV[i])
  local part = meta and 'body' or 'remains'
  meta = meta or redis.call('HGET', key(queue, 'dead'), ARGV[i])
  local body = meta and body_of(queue, ARGV[i], read_meta(meta).size, part, '')
  found[#found + 1] = body and meta or ''
  found[#found + 1] = body or ''
end
return found
