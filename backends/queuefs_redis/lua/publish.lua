-- uses: common, once, pending, publishing
-- ARGV: queue, id, 1 to publish or 0 to discard.
if before then
  return before
end
local queue, id = ARGV[4], ARGV[5]
local stage = redis.call('HGET', P .. 'stages:' .. daemon, id)
if not stage or string.match(stage, '^%S+') ~= queue then
  return known(queue) and '+' or '-noqueue'
end
if ARGV[6] == '1' then
  publish_staged(daemon, id, stage)
else
  drop_staged(daemon, id, queue)
end
return answer('')
