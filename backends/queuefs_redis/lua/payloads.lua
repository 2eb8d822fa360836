-- uses: common
-- ARGV: queue, ids. Returns meta and body for each, '' for what is missing.
local queue = ARGV[1]
if not known(queue) then
  return '-noqueue'
end
local found = {'+'}
for i = 2, #ARGV do
  local meta = redis.call('HGET', key(queue, 'meta'), ARGV[i])
  local body = meta and redis.call('HGET', key(queue, 'body'), ARGV[i])
  if not meta then
    meta = redis.call('HGET', key(queue, 'dead'), ARGV[i])
    body = meta and redis.call('HGET', key(queue, 'remains'), ARGV[i])
  end
  found[#found + 1] = body and meta or ''
  found[#found + 1] = body or ''
end
return found
