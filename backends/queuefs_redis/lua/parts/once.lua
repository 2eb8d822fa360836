-- Begins every script that changes something: ARGV[1] daemon, ARGV[2] its batch, ARGV[3] the request's number there.
-- A request whose answer is recorded was carried out before its reply was lost; it isn't carried out again. One of a
-- batch that is not the daemon's current one was overtaken by its own repetition, and its answer is no longer known.
local daemon = ARGV[1]
local answers = P .. 'answers:' .. daemon
local found = redis.call('HMGET', answers, 'batch', ARGV[3])
if found[1] ~= ARGV[2] then
  return '-late'
end
local before = found[2]

local function answer(text)
  redis.call('HSET', answers, ARGV[3], '+' .. text)
  tell_all(daemon)
  return '+' .. text
end
