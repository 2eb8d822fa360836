-- uses: common, once, keys, messages
-- ARGV: queue, verb (nack or expire), now, then id, claim, delay, 1 if it shall be dead, and '+reason' or '' for each.
-- Returns one letter for each, see `standing`.
if before then
  return before
end
local queue, verb, now = ARGV[4], ARGV[5], clock(ARGV[6])
local settled, back, dead, gone = {}, {}, {}, {}

local function bury(id, m)
  local body = redis.call('HGET', key(queue, 'body'), id)
  forget(queue, id, m)
  m.due = '-'
  write_meta('dead', queue, id, m)
  if body then
    redis.call('HSET', key(queue, 'remains'), id, body)
  end
  dead[#dead + 1] = id
end

local function judge(id, m, delay, is_dead, reason)
  end_claim(queue, id)
  if m and m.flag == 'C' then
    forget(queue, id, m)
    gone[#gone + 1] = id
    return
  end
  if m and reason ~= '' then
    set_reason(m, string.sub(reason, 2))
  end
  if m and is_dead then
    bury(id, m)
    return
  end
  if m then
    m.due = delay == '0' and '-' or digits(now + delay)
    write_meta('meta', queue, id, m)
  end
  make_pending(queue, id, m)
  back[#back + 1] = id
end

for i = 7, #ARGV, 5 do
  local letter, m, until_ = standing(queue, ARGV[i], ARGV[i + 1])
  if letter == 'D' and verb == 'expire' and tonumber(until_) > now then
    letter = 'S'
  end
  if letter == 'D' then
    judge(ARGV[i], m, ARGV[i + 2], ARGV[i + 3] == '1', ARGV[i + 4])
  end
  settled[#settled + 1] = letter
end
if #back + #dead + #gone == 0 then
  return known(queue) and '+' .. table.concat(settled) or '-noqueue'
end
count(queue, verb == 'nack' and 'nacked' or 'expired', #back + #dead + #gone)
count(queue, 'buried', #dead)
tell(queue, verb, back)
tell(queue, 'bury', dead)
tell(queue, 'cancel', gone)
return answer(table.concat(settled))
