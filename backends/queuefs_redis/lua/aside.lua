-- uses: once
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
local undone = {}
for i = 5, #ARGV, 2 do
  local id, claim = ARGV[i], ARGV[i + 1]
  local letter, m = standing(queue, id, claim)
  if claim ~= '' and letter == 'D' then
    count(queue, 'dequeued', -1)
    undo(queue, id, m)
    undone[#undone + 1] = id
  end
  if redis.call('ZSCORE', key(queue, 'pending'), id) then
    move_aside(queue, id, m, 'aside')
  end
end
tell(queue, 'undo', undone)
return answer('')
