-- uses: once
-- ARGV: queue, verb (pause, resume, cancel or bury), now, records and time to keep (see `end_records`), '+reason' or '',
-- then ids. Returns one letter for each: D, S (stale) or U (unknown).
if before then
  return before
end
local queue, verb, reason = ARGV[4], ARGV[5], ARGV[9]
local settled, done = {}, {}

local function turn(id, m, flag)
  if m and m.flag ~= flag then
    take_out(queue, id, m)
    m.flag = flag
    write_meta('meta', queue, id, m)
    make_pending(queue, id, m)
  end
  return 'D'
end

-- What becomes of a pending message; one without meta can only be cancelled.
local PENDING = {
  pause = function(id, m)
    return turn(id, m, 'P')
  end,
  resume = function(id, m)
    return turn(id, m, '-')
  end,
  cancel = function(id, m)
    leave_record(queue, id, m, 'cancelled', '')
    take_out(queue, id, m)
    forget(queue, id, m)
    return 'D'
  end,
  bury = function(id, m)
    if not m then
      return 'S'
    end
    take_out(queue, id, m)
    if reason ~= '' then
      set_reason(m, string.sub(reason, 2))
    end
    bury(queue, id, m)
    count(queue, 'buried', 1)
    return 'D'
  end,
}

local function mark_as_cancelled(id, m)
  if m and m.flag ~= 'C' then
    go_on_when_full()
    m.flag = 'C'
    write_meta('meta', queue, id, m)
  end
  return 'D'
end

begin_records(ARGV[7], ARGV[8], ARGV[6])
for i = 10, #ARGV do
  local letter, m = standing(queue, ARGV[i], '') -- D in processing, S pending
  if letter == 'S' then
    letter = PENDING[verb](ARGV[i], m)
  elseif letter == 'D' then
    letter = verb == 'cancel' and mark_as_cancelled(ARGV[i], m) or 'S'
  end
  settled[#settled + 1] = letter
  if letter == 'D' then
    done[#done + 1] = ARGV[i]
  end
end
if #done == 0 and not known(queue) then
  return '-noqueue'
end
end_records(queue, ARGV[7], ARGV[8])
if #done == 0 then
  return '+' .. table.concat(settled)
end
tell(queue, verb, done)
return answer(table.concat(settled))
