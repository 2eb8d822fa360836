-- uses: common
-- Opens a batch: the answers of the one before are known to have arrived. ARGV: daemon, batch, and, where the
-- connection is new, the highest id and queue number that the daemon knows: a server that came back with an older copy
-- of its data would give them again.
local answers = P .. 'answers:' .. ARGV[1]
local batch = redis.call('HGET', answers, 'batch')
if not batch or tonumber(batch) < tonumber(ARGV[2]) then
  redis.call('UNLINK', answers)
  redis.call('HSET', answers, 'batch', ARGV[2])
end

local function raise(counter, least)
  local last = redis.call('GET', P .. counter) or '0'
  if #last < #least or #last == #least and last < least then
    redis.call('SET', P .. counter, least)
  end
end

if ARGV[3] then
  raise('last-id', ARGV[3])
  raise('last-queue', ARGV[4])
end
return '+'
