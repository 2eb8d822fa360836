-- uses: once
-- ARGV: queue, verb (nack or expire), now, records and time to keep (see `end_records`), then id, claim, delay, 1 if it
-- shall be dead, and '+reason' or '' for each. Returns one letter for each, see `standing`.
if before then
  return before
end
local queue, verb, now = ARGV[4], ARGV[5], clock(ARGV[6])
local settled, back, dead, gone = {}, {}, {}, {}

local function judge(id, m, delay, is_dead, reason)
  if m and reason ~= '' then
    set_reason(m, string.sub(reason, 2))
  end
  if m and m.flag == 'C' then
    finish(queue, id, m, 'cancelled', '')
    gone[#gone + 1] = id
    return
  end
  local rank = end_claim(queue, id, m)
  if m and is_dead then
    bury(queue, id, m)
    dead[#dead + 1] = id
    return
  end
  if m then
    m.due = delay == '0' and '-' or digits(now + delay)
    write_meta('meta', queue, id, m)
  end
  make_pending(queue, id, m, rank)
  back[#back + 1] = id
end

begin_records(ARGV[7], ARGV[8], ARGV[6])
for i = 9, #ARGV, 5 do
  local letter, m, until_ = standing(queue, ARGV[i], ARGV[i + 1])
  if letter == 'D' and verb == 'expire' and tonumber(until_) > now then
    letter = 'S'
  end
  if letter == 'D' then
    judge(ARGV[i], m, ARGV[i + 2], ARGV[i + 3] == '1', ARGV[i + 4])
  end
  settled[#settled + 1] = letter
end
local number = #back + #dead + #gone
if number == 0 and not known(queue) then
  return '-noqueue'
end
end_records(queue, ARGV[7], ARGV[8])
if number == 0 then
  return '+' .. table.concat(settled)
end
count(queue, verb == 'nack' and 'nacked' or 'expired', number)
count(queue, 'buried', #dead)
tell(queue, verb, back)
tell(queue, 'bury', dead)
tell(queue, 'cancel', gone)
return answer(table.concat(settled))
