-- uses: common, once, pending
-- ARGV: queue, then id and claim for each message whose payload is not what was put in ('' if it was not claimed).
-- The claim is undone, but the message doesn't return to the head of its queue, where it would be in the way for ever.
if before then
  return before
end
local queue = ARGV[4]
if not known(queue) then
  return '-noqueue'
end
go_on_when_full()
for i = 5, #ARGV, 2 do
  local id, claim = ARGV[i], ARGV[i + 1]
  local letter, meta = standing(queue, id, claim)
  if claim ~= '' and letter == 'D' then
    undo(queue, id, meta)
  end
  local score = redis.call('ZSCORE', key(queue, 'pending'), id)
  if score then
    redis.call('ZADD', key(queue, 'aside'), score, id)
    redis.call('ZREM', key(queue, 'pending'), id)
  end
end
return answer('')
