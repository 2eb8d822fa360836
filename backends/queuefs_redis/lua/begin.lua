-- uses: common, pending, publishing
-- Opens a batch: the answers of the one before are known to have arrived, or never will. Nothing of an earlier batch is
-- carried out from now on (once.lua), nothing of this one has been.
-- ARGV: daemon, batch; if answers may be lost for good, 'doubt' and the ids that are known to the writers of what this
-- daemon has staged. What else it has staged is dropped: nobody could ever publish or discard it.
local owner = ARGV[1]
local answers, stages = P .. 'answers:' .. owner, P .. 'stages:' .. owner
local batch = redis.call('HGET', answers, 'batch')
if batch and tonumber(batch) >= tonumber(ARGV[2]) then
  return '+'
end
redis.call('UNLINK', answers)
redis.call('HSET', answers, 'batch', ARGV[2])
local dropped = {}
if ARGV[3] == 'doubt' then
  local told = {}
  for i = 4, #ARGV do
    told[ARGV[i]] = true
  end
  for _, id in ipairs(redis.call('HKEYS', stages)) do
    if not told[id] then
      drop_staged(owner, id, string.match(redis.call('HGET', stages, id), '^%S+'))
      dropped[#dropped + 1] = id
    end
  end
end
return '+' .. table.concat(dropped, ' ')
