-- uses: common
-- Opens a batch: the answers of the one before are known to have arrived. ARGV: daemon, batch.
local answers = P .. 'answers:' .. ARGV[1]
local batch = redis.call('HGET', answers, 'batch')
if not batch or tonumber(batch) < tonumber(ARGV[2]) then
  redis.call('UNLINK', answers)
  redis.call('HSET', answers, 'batch', ARGV[2])
end
return '+'
