-- uses: common
-- ARGV: queue, ids. Returns meta and body for each, '' for what is missing.
local queue = ARGV[1]
if not known(queue) then
  return '-noqueue'
end
local found = {'+'}
for i = 2, #ARGV do
  local meta = redis.call('HGET', key(queue, 'meta'), ARGV[i])
  local body = redis.call('HGET', key(queue, 'body'), ARGV[i])
  found[#found + 1] = body and meta or ''
  found[#found + 1] = meta and body or ''
end
return found
