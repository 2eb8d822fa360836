-- Opens a batch: the answers of the one before are known to have arrived, or never will. Nothing of an earlier batch is
-- carried out from now on (once.lua), nothing of this one has been.
-- ARGV: daemon, batch; then, if need be:
-- * the highest id and queue number that the daemon knows, 0 where the connection is not new: a server that came back
--   with an older copy of its data would give them again;
-- * if answers may be lost for good, 'doubt' and the ids that are known to the writers of what this daemon has staged.
--   What else it has staged is dropped: nobody could ever publish or discard it.
local owner = ARGV[1]
local answers, stages = P .. 'answers:' .. owner, P .. 'stages:' .. owner
local batch = redis.call('HGET', answers, 'batch')
local is_new = not batch or tonumber(batch) < tonumber(ARGV[2])
go_on_when_full()
if is_new then
  redis.call('UNLINK', answers)
  redis.call('HSET', answers, 'batch', ARGV[2])
end

if ARGV[3] then
  raise('last-id', ARGV[3])
  raise('last-queue', ARGV[4])
end

local dropped = {}
if is_new and ARGV[5] == 'doubt' then
  local is_known = {}
  for i = 6, #ARGV do
    is_known[ARGV[i]] = true
  end
  for _, id in ipairs(redis.call('HKEYS', stages)) do
    if not is_known[id] then
      local s = read_stage(owner, id)
      drop_staged(owner, id, s)
      tell(s.queue, 'discard', {id})
      dropped[#dropped + 1] = id
    end
  end
  tell_all('') -- as nobody: to this daemon, too, it is news
end
return '+' .. table.concat(dropped, ' ')
