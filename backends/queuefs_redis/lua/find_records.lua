-- ARGV: queue, now, ids. Returns for each its record, '' if there is none or it is not to be shown any more.
local queue = ARGV[1]
if not known(queue) then
  return '-noqueue'
end
local first = surplus(queue, clock(ARGV[2]))
local found = {'+'}
for i = 3, #ARGV do
  local at = redis.call('ZRANK', key(queue, 'ends'), ARGV[i])
  found[#found + 1] = at and at >= first and redis.call('HGET', key(queue, 'done'), ARGV[i]) or ''
end
return found
