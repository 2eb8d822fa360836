-- ARGV: queue, ids. Returns for each '' or 'lease meta'; 'dead' or '-' instead of the end of a lease where there is none.
local queue = ARGV[1]
if not known(queue) then
  return '-noqueue'
end
local found = {'+'}
for i = 2, #ARGV do
  local meta = redis.call('HGET', key(queue, 'meta'), ARGV[i])
  local dead = not meta and redis.call('HGET', key(queue, 'dead'), ARGV[i])
  if meta then
    local until_ = redis.call('ZSCORE', key(queue, 'processing'), ARGV[i])
    found[#found + 1] = (until_ and digits(tonumber(until_)) or '-') .. ' ' .. meta
  else
    found[#found + 1] = dead and 'dead ' .. dead or ''
  end
end
return found
