-- uses: once
-- ARGV: queue, verb, lease, now, records and time to keep (see `end_records`), status and detail, then id and claim for
-- each. Returns one letter for each, see `standing`; C is done, and the message is cancelled.
if before then
  return before
end
local queue, verb = ARGV[4], ARGV[5]
local until_ = verb == 'extend' and digits(clock(ARGV[7]) + ARGV[6])
local settled, done, gone = {}, {}, {}

local VERBS = {
  ack = function(id, m)
    finish(queue, id, m, ARGV[10], ARGV[11])
    done[#done + 1] = id
  end,
  undo = function(id, m)
    local there = undo(queue, id, m) and done or gone
    there[#there + 1] = id
  end,
  extend = function(id, m)
    go_on_when_full()
    redis.call('ZADD', key(queue, 'processing'), until_, id)
    done[#done + 1] = id
    return m and m.flag == 'C' and 'C'
  end,
}

begin_records(ARGV[8], ARGV[9], ARGV[7])
for i = 12, #ARGV, 2 do
  local letter, m = standing(queue, ARGV[i], ARGV[i + 1])
  if letter == 'D' then
    letter = VERBS[verb](ARGV[i], m) or letter
  end
  settled[#settled + 1] = letter
end
if #done + #gone == 0 and not known(queue) then
  return '-noqueue'
end
end_records(queue, ARGV[8], ARGV[9])
if #done + #gone == 0 then
  return '+' .. table.concat(settled)
end
if verb == 'extend' then
  note('leases', queue, until_)
else
  count(queue, verb == 'ack' and 'acked' or 'dequeued', verb == 'ack' and #done or -#done - #gone)
  tell(queue, verb, done)
  tell(queue, 'cancel', gone)
end
return answer(table.concat(settled))
