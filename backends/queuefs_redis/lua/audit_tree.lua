-- uses: common
-- Returns number and record of each queue, name and number of each child by parent, and whatever is kept for all queues.
local children = {}
local queues = redis.call('HGETALL', P .. 'queues')
local parents = {'0'}
for i = 1, #queues, 2 do
  parents[#parents + 1] = queues[i]
end
for _, parent in ipairs(parents) do
  children[#children + 1] = parent
  children[#children + 1] = redis.call('HGETALL', P .. 'children:' .. parent)
end
local stages = {}
for _, daemon in ipairs(redis.call('ZRANGE', P .. 'daemons', 0, -1)) do
  for _, text in ipairs(redis.call('HGETALL', P .. 'stages:' .. daemon)) do
    stages[#stages + 1] = text
  end
end
local found = {queues, children, stages, redis.call('HGETALL', P .. 'configs')}
for _, what in ipairs({'leases', 'delays', 'lapses', 'windows'}) do
  found[#found + 1] = redis.call('ZRANGE', P .. what, 0, -1, 'WITHSCORES')
end
return found
